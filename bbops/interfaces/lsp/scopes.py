"""What an expression may read at the cursor: the names there, and the types of its parts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from bbops.build.check import CheckedProject
from bbops.build.check._flows import Flows
from bbops.interfaces.lsp.mend import mend
from bbops.interfaces.lsp.names import code_of
from bbops.interfaces.lsp.outside import scope_outside
from bbops.interfaces.lsp.repair import WORD, Repaired, Whole, is_here
from bbops.interfaces.lsp.slots import node_at
from bbops.language.expressions import types as t
from bbops.language.expressions.infer import Inference
from bbops.language.expressions.nodes import Filter, Node
from bbops.language.expressions.scope import SIGNED_IN, Scope
from bbops.language.expressions.syntax import parse
from bbops.language.expressions.types import Type
from bbops.language.project import Resource
from bbops.language.resources.endpoint import Endpoint
from bbops.language.resources.function import Function
from bbops.runtime.values.filters import FILTERS
from bbops.source.tree import BlobId, FilePath
from bbops.source.yaml.document import Text


@dataclass(slots=True)
class Here:
    """What is known at the cursor.

    Attributes:
        node: what the stand-in became.
        roots: names that may stand bare, but for `vars`.
        variables: what `vars.` may be followed by.
        columns: the columns that may stand bare.
        many: relations to many rows, of which `exists` and its like may be asked.
        of: the type in front of the stand-in's `.` or `|`.
        windows: `rank` and its like may be asked for.
    """

    node: Node
    roots: Mapping[str, Type] = field(default_factory=dict)
    variables: Mapping[str, Type] = field(default_factory=dict)
    columns: Mapping[str, Type] = field(default_factory=dict)
    many: Collection[str] = ()
    of: Type | None = None
    windows: bool = False

    @classmethod
    def seen(cls, node: Node, scope: Scope) -> Here:
        """Return what a scope knows at a node."""
        signed = {name: scope.roots[name] for name in SIGNED_IN if name in scope.roots}
        roots = {name: of for name, of in scope.roots.items() if name not in SIGNED_IN}
        inner = getattr(node, "of", None)
        of = scope.types.get(id(inner)) if inner is not None else None
        many = scope.related.children if scope.related is not None else ()
        return cls(
            node, roots, {**scope.known.vars, **signed}, scope.columns or {}, many, of,
            scope.windows,
        )  # fmt: skip


def look(
    project: CheckedProject, folder: str, name: str, at: Repaired, whole: Whole
) -> Here | None:
    """Return what is known where the stand-in is; None where nothing is checked."""
    if folder == "functions" or (folder == "endpoints" and at.spot.path[:1] == ("steps",)):
        return _in_function(project, folder, name, at, whole)
    scope = scope_outside(project, folder, name, at.document.root, at.spot.path)
    if scope is None:
        return None
    found: list[Here] = []
    scope.watch = lambda node, inner: _note(found, node, inner)
    tree = parse(whole.text)
    Inference(scope, None, tree).infer(tree)
    return found[-1] if found else None


def _note(found: list[Here], node: Node, scope: Scope) -> None:
    is_filter = isinstance(node, Filter) and any(
        is_here(arg) or (getattr(arg, "name", None) == WORD and takes_arrow(node, place))
        for place, arg in enumerate(node.args)
    )
    if is_filter or getattr(node, "name", None) == WORD:
        found.append(Here.seen(node, scope))


def takes_arrow(node: Filter, place: int) -> bool:
    """Return whether an argument of a filter may be an arrow function."""
    return node.name in FILTERS and place in FILTERS[node.name].arrows


def _in_function(
    project: CheckedProject, folder: str, name: str, at: Repaired, whole: Whole
) -> Here | None:
    root, path = at.document.root, at.spot.path
    text = at.spot.value
    braced = text if whole.text == text else f"${{ {whole.text} }}"
    mended = Text(braced if "${" in text else whole.text)
    mended.mark = at.spot.mark
    node_at(root, path[:-1])[path[-1]] = mended
    kind: type[Function | Endpoint] = Function if folder == "functions" else Endpoint
    model = mend(kind, root, path)
    if model is None:
        return None
    file = FilePath(f"{folder}/{name}.yaml")
    one: Resource[Any] = Resource(kind.id(), name, file, BlobId(""), model, at.document)
    found: list[Here] = []
    flows = _around(project, folder, one)
    code = code_of(folder, name)
    if code in flows.project.functions:
        flows.check(code, watch=lambda node, scope: _note(found, node, scope))
    return found[-1] if found else None


def _around(project: CheckedProject, folder: str, one: Resource[Any]) -> Flows:
    """Return the checks of a project with another text of one function, which is not checked."""
    project.flows.check_all()
    named: dict[str, Resource[Any]] = {**project.resources[folder], one.name: one}
    broken = project.broken - {(folder, one.name)}
    variant = replace(project.having(folder, named), broken=broken)
    known = project.flows
    return Flows(variant, {}, dict(known.done), {code_of(folder, one.name): t.ANY, **known.gives})
