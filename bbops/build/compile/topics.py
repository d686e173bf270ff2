"""Compile topics: what decides about their subscribers, and the shapes of their messages."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any, Final

from bbops.build.check import CheckedProject
from bbops.build.check._outside import Outside
from bbops.build.check.realtime import find_subscriber
from bbops.language.expressions.check import check_condition, check_value
from bbops.language.expressions.scope import Scope
from bbops.language.expressions.values import Bare, Expression
from bbops.language.project import Resource
from bbops.language.resources.realtime import Realtime
from bbops.language.shape import shape_spec
from bbops.language.sql.dialect import Dialect
from bbops.language.steps._flow import Flow
from bbops.runtime.values.durations import seconds

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
    }  # fmt: skip


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


def _compile(outside: Outside, code: Callable[[Flow], ast.expr], dialect: Dialect) -> Part:
    """Return a function of the run in which the middleware of a subscriber has run."""
    scope = Scope(outside.names, _unheard, outside.known.copy())
    flow = Flow(outside.resource.file, scope, {}, variables=(), exports=False, dialect=dialect)
    body = flow.at_one_time(lambda: [ast.Return(code(flow))])
    head: list[ast.stmt] = [
        ast.Assign(
            [ast.Name(f"r_{root}", ast.Store())],
            ast.Attribute(ast.Name("run", ast.Load()), root, ast.Load()),
        ) for root in sorted(flow.roots)
    ]  # fmt: skip
    arguments = ast.arguments([], [ast.arg("run")], None, [], [], None, [])
    definition = ast.FunctionDef(_NAME, arguments, [*head, *body], [], None)
    definition.type_params = []  # type: ignore[attr-defined, unused-ignore]  # from Python 3.12 on
    definition.lineno = definition.end_lineno = 1
    definition.col_offset = definition.end_col_offset = 0
    tree = ast.fix_missing_locations(ast.Module([definition], []))
    return {
        "code": compile(tree, outside.resource.file, "exec", dont_inherit=True, optimize=1),
        "uses": flow.uses,
        "constants": {key: list(constant) for key, constant in flow.constants.items()},
    }
