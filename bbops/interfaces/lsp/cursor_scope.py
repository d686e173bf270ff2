"""Find the scope of an expression at the cursor: its names, and the types of its parts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from bbops.compiler.check import CheckedProject
from bbops.compiler.check._flows import Flows
from bbops.compiler.check._surroundings import left_by_chain
from bbops.compiler.check._ways import event_of, rows_of
from bbops.compiler.check.agents import argument_type
from bbops.interfaces.lsp.names import code_of
from bbops.interfaces.lsp.partial_model import build_model
from bbops.interfaces.lsp.placeholder import (
    PLACEHOLDER,
    Placeholder,
    PlaceholderExpression,
    has_placeholder,
)
from bbops.interfaces.lsp.schema import Path, node_at
from bbops.language.expressions import types as t
from bbops.language.expressions.infer import Inference
from bbops.language.expressions.known import FlowFacts
from bbops.language.expressions.nodes import Filter, Node
from bbops.language.expressions.scope import SIGNED_IN, Scope
from bbops.language.expressions.syntax import parse
from bbops.language.expressions.types import Type
from bbops.language.project import Resource
from bbops.language.resources.endpoint import Endpoint
from bbops.language.resources.function import Function
from bbops.language.resources.trigger import DatabaseTrigger
from bbops.runtime.values.filters import FILTERS
from bbops.source.tree import BlobId, FilePath
from bbops.source.yaml.document import Text


@dataclass(slots=True)
class CursorScope:
    """The names and types at the cursor.

    Attributes:
        node: the node of the placeholder.
        roots: names that can be used alone, except `vars`.
        variables: names that can follow `vars.`.
        columns: columns that can be used alone.
        many: relations to several rows, for `exists` and similar functions.
        input_type: the type before the placeholder's `.` or `|`.
        windows: whether `rank` and similar functions can be used.
    """

    node: Node
    roots: Mapping[str, Type] = field(default_factory=dict)
    variables: Mapping[str, Type] = field(default_factory=dict)
    columns: Mapping[str, Type] = field(default_factory=dict)
    many: Collection[str] = ()
    input_type: Type | None = None
    windows: bool = False

    @classmethod
    def from_scope(cls, node: Node, scope: Scope) -> CursorScope:
        """Return the names and types of a scope at a node."""
        signed_in = {name: scope.roots[name] for name in SIGNED_IN if name in scope.roots}
        roots = {name: root for name, root in scope.roots.items() if name not in SIGNED_IN}
        inner = getattr(node, "of", None)
        input_type = scope.types.get(id(inner)) if inner is not None else None
        many = scope.related.children if scope.related is not None else ()
        return cls(
            node, roots, {**scope.known.vars, **signed_in}, scope.columns or {}, many, input_type,
            scope.windows,
        )  # fmt: skip


def find_scope(
    project: CheckedProject,
    folder: str,
    name: str,
    placeholder: Placeholder,
    expression: PlaceholderExpression,
) -> CursorScope | None:
    """Return the scope at the placeholder; None if nothing is checked there."""
    if folder == "functions" or (folder == "endpoints" and placeholder.spot.path[:1] == ("steps",)):
        return _in_function(project, folder, name, placeholder, expression)
    scope = find_outer_scope(
        project, folder, name, placeholder.document.root, placeholder.spot.path
    )
    if scope is None:
        return None
    scopes: list[CursorScope] = []
    scope.watch = lambda node, inner: _collect(scopes, node, inner)
    tree = parse(expression.text)
    Inference(scope, None, tree).infer(tree)
    return scopes[-1] if scopes else None


def _collect(scopes: list[CursorScope], node: Node, scope: Scope) -> None:
    is_filter = isinstance(node, Filter) and any(
        has_placeholder(arg)
        or (getattr(arg, "name", None) == PLACEHOLDER and accepts_arrow(node, index))
        for index, arg in enumerate(node.args)
    )
    if is_filter or getattr(node, "name", None) == PLACEHOLDER:
        scopes.append(CursorScope.from_scope(node, scope))


def accepts_arrow(node: Filter, index: int) -> bool:
    """Return whether an argument of a filter may be an arrow function."""
    return node.name in FILTERS and index in FILTERS[node.name].arrows


def _in_function(
    project: CheckedProject,
    folder: str,
    name: str,
    placeholder: Placeholder,
    expression: PlaceholderExpression,
) -> CursorScope | None:
    root, path = placeholder.document.root, placeholder.spot.path
    source = placeholder.spot.value
    in_braces = source if expression.text == source else f"${{ {expression.text} }}"
    text = Text(in_braces if "${" in source else expression.text)
    text.mark = placeholder.spot.mark
    node_at(root, path[:-1])[path[-1]] = text
    kind: type[Function | Endpoint] = Function if folder == "functions" else Endpoint
    model = build_model(kind, root, path)
    if model is None:
        return None
    file = FilePath(f"{folder}/{name}.yaml")
    resource: Resource[Any] = Resource(
        kind.id(), name, file, BlobId(""), model, placeholder.document
    )
    scopes: list[CursorScope] = []
    flows = _flows_with(project, folder, resource)
    code = code_of(folder, name)
    if code in flows.project.functions:
        flows.check(code, watch=lambda node, scope: _collect(scopes, node, scope))
    return scopes[-1] if scopes else None


def _flows_with(project: CheckedProject, folder: str, resource: Resource[Any]) -> Flows:
    """Return the checks of a project with another version of one function, still unchecked."""
    project.flows.check_all()
    group: dict[str, Resource[Any]] = {**project.resources[folder], resource.name: resource}
    broken = project.broken - {(folder, resource.name)}
    variant = replace(project.having(folder, group), broken=broken)
    known = project.flows
    gives = {code_of(folder, resource.name): t.ANY, **known.gives}
    return Flows(variant, {}, dict(known.done), gives)


# ---- Scopes of expressions outside functions: in triggers, topics, tables and tests


def find_outer_scope(
    project: CheckedProject, folder: str, name: str, root: Any, path: Path
) -> Scope | None:  # fmt: skip
    """Return the scope of an expression at a path of a file; None outside expressions.

    Args:
        root: the content of the file, which may be unfinished.
    """
    if folder == "tables" and (path[0] == "checks" or path[-1] in {"where", "computed"}):
        table = project.stored_tables.get(name)
        return _scope({}, table.column_types if table else {}, name)
    if folder == "tables" and path[0] in {"access", "scope"}:
        return _of_rule(project, name, is_scope=path[0] == "scope")
    if folder == "agents" and path[-1] == "approval":
        return _of_call(project, node_at(root, path[:-1]))
    if folder in {"triggers", "agents"} and path[-1] in {"where", "key"}:
        return _of_start(project, folder, root, path)
    if folder == "realtime" and path[-2:] == ("rows", "where"):
        return _of_shown_rows(project, root)
    if folder == "realtime" and (path[-1] in {"subscribe", "publish"} or path[0] == "presence"):
        return _of_topic(project, root)
    if folder == "tests" and "check" in path:
        headers = t.map_of({}, "headers", rest=t.TEXT.or_null())
        return _scope({"result": t.ANY, "status": t.INTEGER, "headers": headers})
    return _scope({"env": _env(project)}) if folder in {"", "addons"} else None


def _of_rule(project: CheckedProject, name: str, *, is_scope: bool) -> Scope:
    table = project.sql_tables.get(name)
    if table is None or is_scope:
        return _scope({}, table.column_types if table else {}, name)
    callers = {root: value_type.or_null() for root, value_type in project.caller_types.items()}
    scope = _scope(callers, table.query_types(), name)
    scope.related = table
    return scope


def _of_call(project: CheckedProject, tool: Any) -> Scope | None:
    function = project.functions.get(str(tool.get("function")))
    return None if function is None else _scope({"args": argument_type(function)})


def _of_start(project: CheckedProject, folder: str, root: Any, path: Path) -> Scope | None:
    """Return the scope of a condition or key: over rows, or over an event."""
    parent = node_at(root, path[:-1])
    if isinstance(parent, dict) and "table" in parent:
        return _of_rows(project, parent)
    if isinstance(rows := root.get("database"), dict) and "table" in rows:
        return _of_rows(project, rows)
    payload = None
    if folder == "triggers":
        function = project.functions.get(str(root.get("function")))
        payload = function.model.payload if function is not None else None
    elif "realtime" in path:
        topic = project.realtime.get(str(parent.get("topic")))
        payload = topic.model.events.get(str(parent.get("event"))) if topic is not None else None
    return _scope({"event": event_of(payload)})


def _of_rows(project: CheckedProject, parent: Any) -> Scope | None:
    table = project.stored_tables.get(str(parent.get("table")))
    if table is None:
        return None
    operation = parent.get("operation") or ["update"]
    try:
        trigger = DatabaseTrigger.model_validate({"table": table.name, "operation": operation})
    except ValueError:
        return _scope({}, table.column_types, table.name)
    return _scope(rows_of(project, trigger).fields or {}, table.column_types, table.name)


def _of_topic(project: CheckedProject, root: Any) -> Scope:
    names = [part[1:] for part in str(root.get("topic", "")).split("/") if part.startswith(":")]
    roots = {"params": t.map_of(dict.fromkeys(names, t.TEXT), "params")}
    if root.get("authentication") == "JWT":
        roots["auth"] = project.caller_types["auth"]
    middleware = root.get("middleware")
    chain = tuple(map(str, middleware)) if isinstance(middleware, list) else ()
    scope = _scope(roots)
    scope.known = left_by_chain(project, chain, lambda name: _left_by(project, name))
    return scope


def _of_shown_rows(project: CheckedProject, root: Any) -> Scope:
    scope = _of_topic(project, root)
    rows = root.get("rows")
    table = project.stored_tables.get(str(rows.get("table"))) if isinstance(rows, dict) else None
    if table is not None:
        scope.columns, scope.table = table.column_types, table.name
    return scope


def _left_by(project: CheckedProject, middleware: str) -> FlowFacts | None:
    return project.flows.of(middleware).left


def _env(project: CheckedProject) -> Type:
    return t.map_of(dict.fromkeys(project.settings.model.env, t.TEXT), "env")


def _scope(
    roots: Mapping[str, Type], columns: Mapping[str, Type] | None = None, table: str = ""
) -> Scope:
    return Scope(roots, lambda *_: None, columns=columns, table=table)
