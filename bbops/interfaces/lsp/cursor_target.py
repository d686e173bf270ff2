"""Find the target of the cursor in a valid file: a key, a name, a part of an expression."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bbops.base.model import Model
from bbops.compiler.check import CheckedProject
from bbops.interfaces.lsp.cursor_scope import find_outer_scope
from bbops.interfaces.lsp.names import NameKind, code_of, in_table, name_kind_at, table_of
from bbops.interfaces.lsp.project import EditorProject, kind_of
from bbops.interfaces.lsp.text import SourceLines, offset_in
from bbops.language.expressions.infer import Inference
from bbops.language.expressions.inside import PlacedExpression, expressions, nodes
from bbops.language.expressions.nodes import Member, Name, Node
from bbops.language.expressions.scope import Scope
from bbops.language.expressions.types import Type
from bbops.language.project import Resource
from bbops.source.yaml.document import Document
from bbops.source.yaml.edit import Spot, spot_at


@dataclass(frozen=True, slots=True)
class CursorTarget:
    """The key, name or expression at the cursor.

    Attributes:
        kind: the folder of the file's kind, with the resource's `name` and its `model`.
        name_kind: the kind of the name at the cursor.
        node: the smallest part at the cursor of the whole `expression`.
        offset: the cursor's offset in the expression.
    """

    project: CheckedProject
    path: str
    kind: str
    name: str
    model: type[Model]
    document: Document
    spot: Spot
    name_kind: NameKind | None = None
    expression: PlacedExpression | None = None
    node: Node | None = None
    offset: int = 0

    @property
    def resource(self) -> Resource[Any] | None:
        """The resource of the file; None if it cannot be read."""
        return resource_of(self.project, self.kind, self.name)

    def type_of(self, node: Node | None) -> Type | None:
        """Return the checked type of a part of an expression."""
        scope = self._scope()
        return scope.types.get(id(node)) if scope else None

    def _scope(self) -> Scope | None:
        """Return the scope with the checked types of the expression."""
        if code := code_of(self.kind, self.name):
            is_known = code in self.project.functions
            return self.project.flows.of(code).scope if is_known else None
        root, path = self.document.root, self.spot.path
        scope = find_outer_scope(self.project, self.kind, self.name, root, path)
        if scope is not None and self.expression is not None:
            Inference(scope, None, self.expression.node).infer(self.expression.node)
        return scope

    def column(self) -> tuple[str, str] | None:
        """Return (table, column) if the cursor is on a column."""
        if self.name_kind is not None and self.name_kind.group == "columns":
            table_model = table_of(self.project, self.name_kind)
            return table_model.name if table_model else "", str(self.spot.value).partition(".")[0]
        if self.name_kind is not None and self.name_kind.group in {"references", "like"}:
            table, _, column = str(self.spot.value).partition(".")
            return table, column
        if isinstance(self.node, Member):
            parent = self.type_of(self.node.of)
            name = parent.what if parent else ""
            return (name[7:-1], self.node.name) if name.startswith("table '") else None
        return self._bare_column()

    def _bare_column(self) -> tuple[str, str] | None:
        if not isinstance(self.node, Name) or self.node.name in {"vars", "row"}:
            return None
        kind = NameKind("columns", self.name) if self.kind == "tables" else None
        kind = kind or in_table(self.document.root, self.spot.path)
        table = table_of(self.project, kind) if kind else None
        return (table.name, self.node.name) if table and self.node.name in table.columns else None


def find_target(
    folder: EditorProject, path: str, lines: SourceLines, offset: int
) -> CursorTarget | None:
    """Return the target at an offset of a file; None without one."""
    project = folder.current()
    document = folder.document(path)
    kind_info = kind_of(path, document.root)
    spot = spot_at(document, offset)
    if kind_info is None or project is None or spot is None:
        return None
    kind, name, model = kind_info
    name_kind = name_kind_at(kind, name, document.root, spot.path, is_key=spot.is_key)
    target = CursorTarget(project, path, kind, name, model, document, spot, name_kind)
    resource = resource_of(project, kind, name)
    if spot.is_key or resource is None or resource.document is not document:
        return target
    position = offset_in(document, lines, spot.mark, offset)
    for expression in expressions(resource.model):
        if (
            expression.mark.start == spot.mark.start
            and expression.node.start <= position <= expression.node.end
        ):
            node = _smallest(expression.node, position)
            return CursorTarget(
                project, path, kind, name, model, document, spot, None, expression, node, position
            )  # fmt: skip
    return target


def _smallest(expression: Node, position: int) -> Node:
    parts = [node for node in nodes(expression) if node.start <= position <= node.end]
    return min(parts, key=lambda node: node.end - node.start)


def resource_of(project: CheckedProject, kind: str, name: str) -> Resource[Any] | None:
    """Return a resource by its folder and name; project.yaml has no folder."""
    if not kind:
        return project.settings
    group: Mapping[str, Resource[Any]] = project.resources[kind]
    return group.get(name)
