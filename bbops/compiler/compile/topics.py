"""Compile topics: what decides about their subscribers, and the shapes of their messages."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from bbops.compiler.check import CheckedProject
from bbops.compiler.check._outside import Outside
from bbops.compiler.check.realtime import find_callers, find_row, find_subscriber
from bbops.compiler.compile.conditions import pack_definition, read_columns
from bbops.compiler.compile.row_events import seen_where, topic_columns
from bbops.language.expressions import nodes as s
from bbops.language.expressions.check import check_condition, check_value
from bbops.language.expressions.emit import Emitter
from bbops.language.expressions.nodes import names_in
from bbops.language.expressions.scope import Scope
from bbops.language.expressions.values import Bare, Expression
from bbops.language.project import Project, Resource
from bbops.language.resources.realtime import Realtime
from bbops.language.shape import shape_spec
from bbops.language.sql.dialect import Dialect
from bbops.language.steps._flow import Flow
from bbops.runtime.values.units import seconds

RECHECK_SECONDS: Final = 60.0
"""How often middleware of a topic runs again that does not say `recheck`."""

Part = dict[str, Any]
_NAME: Final = "where"


def compile_topics(project: CheckedProject, dialect: Dialect) -> list[dict[str, Any]]:
    """Return what the linker makes the topics of, by the names of their files."""
    return [_topic(project, one, dialect) for _, one in sorted(project.realtime.items())]


def compile_origins(project: CheckedProject) -> list[tuple[str, bool]]:
    """Return the origins whose pages may ask, and whether with cookies, as channels list them."""
    found: dict[str, bool] = {}
    for policy in (one.model.cors for one in project.channels.values()):
        for origin in policy.origins:
            name = origin.lower()
            found[name] = found.get(name, False) or (policy.credentials and name != "*")
    return sorted(found.items())


def heard_messages(project: Project, topic: str) -> set[str]:
    """Return the events of a topic whose messages start an agent."""
    found = set[str]()
    for agent in project.agents.values():
        start = agent.model.runs_on.realtime
        if start is not None and start.topic == topic and agent.model.enabled:
            found |= {start.event} if start.event else {*project.realtime[topic].model.events}
    return found


def _topic(
    project: CheckedProject, realtime: Resource[Realtime], dialect: Dialect
) -> dict[str, Any]:
    model, outside = realtime.model, find_subscriber(project, realtime)
    history, presence = model.history, model.presence
    return {
        "name": realtime.name,
        "file": realtime.file,
        "topic": model.topic,
        "authentication": model.authentication,
        "middleware": list(model.middleware),
        "subscribe": _condition(outside, model.subscribe, dialect),
        "publish": _condition(outside, model.publish, dialect),
        "events": {event: shape_spec(shape) for event, shape in model.events.items()},
        "history": (history.size, seconds(history.for_)) if history else None,
        "show": None if presence is None else _shown(outside, presence.show, dialect),
        "recheck_seconds": _recheck(model),
        "rows": _rows(project, realtime, dialect),
        "heard": sorted(heard_messages(project, realtime.name)),
    }  # fmt: skip


def _rows(
    project: CheckedProject, realtime: Resource[Realtime], dialect: Dialect
) -> dict[str, Any] | None:
    """Return which rows a topic shows; `key` is what a subscriber's rows have in common."""
    rows, outside = realtime.model.rows, find_row(project, realtime)
    if rows is None or outside is None:
        return None
    table, decoders = project.stored_tables[rows.table], dialect.json_decoders
    outside = replace(outside, names={**find_callers(project, realtime), **outside.names})
    where = seen_where(table, rows)
    equal = [*find_equalities(where, table.columns)]
    return {
        "table": rows.table,
        "columns": {
            name: f"{dialect.rows}:{decoders[column.type]}" if column.type in decoders else ""
            for name, column in topic_columns(project, rows).items()
        },
        "primary": list(table.key),
        "select": list(rows.select),
        "where": _of_row(outside, where, None, dialect),
        "key_columns": [column for column, _, _ in equal],
        "key": _of_row(outside, where, [(value, side) for _, value, side in equal], dialect),
    }  # fmt: skip


def find_equalities(
    where: Bare | None, columns: Mapping[str, Any]
) -> Iterator[tuple[str, s.Node, s.Node]]:  # fmt: skip
    """Yield (column, value, its node) of each `column == value` that must hold.

    The value reads no column.
    """
    wanted = [where.node] if isinstance(where, Expression) else []
    while wanted:
        node = wanted.pop()
        if isinstance(node, s.Logic) and node.op == "and":
            wanted += [node.left, node.right]
        elif isinstance(node, s.Compare) and node.op == "==":
            for side, other in ((node.left, node.right), (node.right, node.left)):
                is_column = isinstance(side, s.Name) and side.name in columns
                if is_column and not any(one in columns for one in names_in(other)):
                    assert isinstance(side, s.Name)  # noqa: S101 - as just seen
                    yield side.name, other, side
                    break


def _of_row(
    outside: Outside, where: Bare | None, values: list[tuple[s.Node, s.Node]] | None,
    dialect: Dialect,
) -> Part | None:  # fmt: skip
    """Return the condition over a row, or what a subscriber gives for `values` in it.

    Args:
        values: each with the column that it is compared with.
    """
    if not isinstance(where, Expression):
        return None

    def code(flow: Flow) -> ast.expr:
        check_condition(where, flow.emitter.scope)
        emitter = Emitter(flow.emitter.scope, flow, read_columns(outside.names, outside.columns))
        if values is None:
            return emitter.condition(where)
        return ast.Tuple([emitter.comparand(*pair) for pair in values], ast.Load())

    arguments = ("run", "row") if values is None else ("run",)
    return _compile(outside, code, dialect, arguments)


def _recheck(model: Realtime) -> float | None:
    if model.recheck is not None:
        return seconds(model.recheck)
    return RECHECK_SECONDS if model.middleware else None


def _condition(outside: Outside, bare: Bare, dialect: Dialect) -> Part:
    def code(flow: Flow) -> ast.expr:
        assert isinstance(bare, Expression)  # noqa: S101 - checked before
        check_condition(bare, flow.emitter.scope)
        return flow.condition(bare)

    return _compile(outside, code, dialect)


def _shown(outside: Outside, show: Mapping[str, Bare], dialect: Dialect) -> Part:
    def code(flow: Flow) -> ast.expr:
        for one in show.values():
            check_value(one, flow.emitter.scope)
        keys: list[ast.expr | None] = [ast.Constant(name) for name in show]
        return ast.Dict(keys, [flow.bare(one) for one in show.values()])

    return _compile(outside, code, dialect)


def _unheard(*_: object) -> None:
    """The check has told of all mistakes before."""


def _compile(
    outside: Outside, code: Callable[[Flow], ast.expr], dialect: Dialect,
    arguments: tuple[str, ...] = ("run",),
) -> Part:  # fmt: skip
    """Return a function of the run in which the middleware of a subscriber has run."""
    scope = Scope(
        outside.names, _unheard, outside.known.copy(), columns=outside.columns, table=outside.table
    )
    flow = Flow(outside.resource.file, scope, {}, variables=(), exports=False, dialect=dialect)
    body = flow.at_one_time(lambda: [ast.Return(code(flow))])
    head: list[ast.stmt] = [
        ast.Assign(
            [ast.Name(f"r_{root}", ast.Store())],
            ast.Attribute(ast.Name("run", ast.Load()), root, ast.Load()),
        ) for root in sorted(flow.roots)
    ]  # fmt: skip
    taken = ast.arguments([], [ast.arg(one) for one in arguments], None, [], [], None, [])
    definition = ast.FunctionDef(_NAME, taken, [*head, *body], [], None)
    return pack_definition(definition, flow, outside.resource.file)
