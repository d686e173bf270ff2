"""Scopes of expressions outside functions: in triggers, topics, tables and tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bbops.compiler.check import CheckedProject
from bbops.compiler.check._surroundings import left_by_chain
from bbops.compiler.check._ways import event_of, rows_of
from bbops.compiler.check.agents import argument_type
from bbops.interfaces.lsp.schema import Path, node_at
from bbops.language.expressions import types as t
from bbops.language.expressions.known import FlowFacts
from bbops.language.expressions.scope import Scope
from bbops.language.expressions.types import Type
from bbops.language.resources.trigger import DatabaseTrigger


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
