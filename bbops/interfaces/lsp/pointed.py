"""What the cursor stands on in a file that can be read: a key, a name, a part of an expression."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bbops.base.model import Model
from bbops.build.check import CheckedProject
from bbops.interfaces.lsp.folder import Folder, kind_of
from bbops.interfaces.lsp.names import Named, code_of, in_table, named_at, table_of
from bbops.interfaces.lsp.outside import scope_outside
from bbops.interfaces.lsp.spots import offset_in
from bbops.interfaces.lsp.text import Lines
from bbops.language.expressions.infer import Inference
from bbops.language.expressions.inside import Found, expressions, nodes
from bbops.language.expressions.nodes import Member, Name, Node
from bbops.language.expressions.scope import Scope
from bbops.language.expressions.types import Type
from bbops.language.project import Resource
from bbops.source.yaml.document import Document
from bbops.source.yaml.spots import Spot, spot_at


@dataclass(frozen=True, slots=True)
class Pointed:
    """A place in a file.

    Attributes:
        kind: the folder of the file's kind, with the resource's `name` and its `model`.
        named: what the text there is a name of.
        node: the smallest part of an expression there, and `found` the whole.
        offset: of the cursor in the text.
    """

    project: CheckedProject
    path: str
    kind: str
    name: str
    model: type[Model]
    document: Document
    spot: Spot
    named: Named | None = None
    found: Found | None = None
    node: Node | None = None
    offset: int = 0

    @property
    def resource(self) -> Resource[Any] | None:
        """The resource that the file is; None where it cannot be read."""
        return resource_of(self.project, self.kind, self.name)

    def type_of(self, node: Node | None) -> Type | None:
        """Return the type that the check found for a part of an expression."""
        scope = self._scope()
        return scope.types.get(id(node)) if scope else None

    def _scope(self) -> Scope | None:
        """Return the scope in which the types of the expression were found."""
        if code := code_of(self.kind, self.name):
            known = code in self.project.functions
            return self.project.flows.of(code).scope if known else None
        root, path = self.document.root, self.spot.path
        scope = scope_outside(self.project, self.kind, self.name, root, path)
        if scope is not None and self.found is not None:
            Inference(scope, None, self.found.node).infer(self.found.node)
        return scope

    def column(self) -> tuple[str, str] | None:
        """Return (table, column) where the cursor is on a column."""
        if self.named is not None and self.named.group == "columns":
            within = table_of(self.project, self.named)
            return within.name if within else "", str(self.spot.value).partition(".")[0]
        if self.named is not None and self.named.group in {"references", "like"}:
            table, _, column = str(self.spot.value).partition(".")
            return table, column
        if isinstance(self.node, Member):
            of = self.type_of(self.node.of)
            what = of.what if of else ""
            return (what[7:-1], self.node.name) if what.startswith("table '") else None
        return self._bare_column()

    def _bare_column(self) -> tuple[str, str] | None:
        if not isinstance(self.node, Name) or self.node.name in {"vars", "row"}:
            return None
        around = Named("columns", self.name) if self.kind == "tables" else None
        around = around or in_table(self.document.root, self.spot.path)
        table = table_of(self.project, around) if around else None
        return (table.name, self.node.name) if table and self.node.name in table.columns else None


def point(folder: Folder, path: str, lines: Lines, offset: int) -> Pointed | None:
    """Return what stands at an offset of a file; None where nothing does."""
    project = folder.current()
    document = folder.document(path)
    what = kind_of(path, document.root)
    spot = spot_at(document, offset)
    if what is None or project is None or spot is None:
        return None
    kind, name, model = what
    named = named_at(kind, name, document.root, spot.path, is_key=spot.is_key)
    plain = Pointed(project, path, kind, name, model, document, spot, named)
    one = resource_of(project, kind, name)
    if spot.is_key or one is None or one.document is not document:
        return plain
    at = offset_in(document, lines, spot.mark, offset)
    for found in expressions(one.model):
        if found.mark.start == spot.mark.start and found.node.start <= at <= found.node.end:
            node = _smallest(found.node, at)
            return Pointed(
                project, path, kind, name, model, document, spot, None, found, node, at
            )  # fmt: skip
    return plain


def _smallest(whole: Node, at: int) -> Node:
    inside = [node for node in nodes(whole) if node.start <= at <= node.end]
    return min(inside, key=lambda node: node.end - node.start)


def resource_of(project: CheckedProject, kind: str, name: str) -> Resource[Any] | None:
    """Return a resource by its folder and name."""
    if not kind:
        return project.settings
    group: Mapping[str, Resource[Any]] = project.resources[kind]
    return group.get(name)
