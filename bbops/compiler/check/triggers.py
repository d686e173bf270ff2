"""Conditions of triggers over the rows or the event they are about, and the keys of lanes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from bbops.base.diagnostics import Diagnostic, suggest
from bbops.base.names import env_name
from bbops.compiler.check._outside import Outside
from bbops.compiler.check._ways import event_of, rows_of
from bbops.language.expressions.nodes import FunctionCall, Node, children
from bbops.language.expressions.types import map_of
from bbops.language.expressions.values import Bare, Expression
from bbops.language.project import Project, Resource
from bbops.language.resources._job import Debounce, Lane, Unique
from bbops.language.resources.function import Function
from bbops.language.resources.trigger import DatabaseTrigger, Trigger
from bbops.language.shape import shape_types
from bbops.runtime.values.failures import FlowError
from bbops.runtime.values.filters import FUNCTIONS
from bbops.runtime.work.signatures import check_secret
from bbops.runtime.work.values import JOB_DEAD, OWN_EVENTS, is_reserved

_A: Final = {"lane": "a lane", "unique": "'unique'", "debounce": "'debounce'"}
_KEYS: Final = frozenset({"text", "integer", "any"})


def check(project: Project) -> Iterator[Diagnostic]:
    """Yield mistakes in `where` of triggers and of agents that run on changed rows."""
    for trigger in project.triggers.values():
        yield from _where(project, trigger, trigger.model.database, "database")
        yield from _of_event(project, trigger)
        yield from _public_keys(trigger)
        yield from _own_events(project, trigger)
        for key in ("lane", "unique", "debounce"):
            keyed = getattr(trigger.model, key)
            yield from _key(find_outside(project, trigger), trigger, keyed, key)
    for function in project.functions.values():
        if function.model.job is not None:
            yield from _key(find_input(function), function, function.model.job.lane, "job", "lane")
    for one in project.on_dead:
        if one.function in project.functions:
            yield from _brought(project.functions[one.function], JOB_DEAD, OWN_EVENTS[JOB_DEAD])
    for agent in project.agents.values():
        yield from _where(project, agent, agent.model.runs_on.database, "runsOn", "database")


def _public_keys(trigger: Resource[Trigger]) -> Iterator[Diagnostic]:
    """Refuse a public key in the file that its scheme cannot use."""
    if trigger.model.webhook is None:
        return
    signature = trigger.model.webhook.signature
    for number, key in enumerate(signature.public_key):
        if not env_name(key):
            try:
                check_secret(signature.scheme, key)
            except FlowError as error:
                given = trigger.document.root["webhook"]["signature"]["publicKey"]
                place = trigger.place(
                    "webhook", "signature", "publicKey", *((number,) if type(given) is list else ())
                )
                hint = f"copy the public key from the settings of {signature.scheme}"
                yield Diagnostic(place, "bad-value", error.message, hint)


def _where(
    project: Project, resource: Resource[Any], database: DatabaseTrigger | None, *path: str
) -> Iterator[Diagnostic]:
    """A bare column is that of the new row, of the old one where there is no new."""
    if database is None or database.where is None or database.table not in project.stored_tables:
        return
    rows = rows_of(project, database).fields or {}
    table = project.stored_tables[database.table]
    outside = Outside(resource, rows, table.column_types, table.name)
    outside.condition(database.where, *path, "where")
    yield from outside.found
    yield from decides_alone(resource, database.where, *path, "where")


def _key(
    outside: Outside | None, resource: Resource[Any], keyed: Lane | Unique | Debounce | None,
    *path: str,
) -> Iterator[Diagnostic]:  # fmt: skip
    if keyed is None or outside is None:
        return
    what, path = path[-1], (*path, "key")
    of = outside.value(keyed.key, *path)
    yield from outside.found
    yield from decides_alone(resource, keyed.key, *path)
    if not outside.found and (of.kind not in _KEYS or of.nullable):
        yield Diagnostic(
            resource.place(*path), "lane-key",
            f"the key of {_A[what]} is a text or an integer, found {of}",
            "add '| default(…)'" if of.nullable else "use one field of what has happened",
        )  # fmt: skip


def find_input(function: Resource[Function]) -> Outside:
    """Return what the key of a lane may read of a job that `enqueue` makes of a function."""
    return Outside(function, {"input": map_of(shape_types(function.model.input or {}), "input")})


def find_outside(project: Project, trigger: Resource[Trigger]) -> Outside | None:
    """Return what conditions and keys of a trigger may read; None where its table is unknown."""
    model = trigger.model
    if model.database is None:
        function = project.functions.get(model.function)
        event = event_of(function.model.payload if function else None)
        return Outside(trigger, {"event": event})
    table = project.stored_tables.get(model.database.table)
    if table is None:
        return None
    rows = rows_of(project, model.database).fields or {}
    return Outside(trigger, rows, table.column_types, table.name)


def _own_events(project: Project, trigger: Resource[Trigger]) -> Iterator[Diagnostic]:
    """Refuse an event of ours that there is not, and fields that one of them does not bring."""
    function = project.functions.get(trigger.model.function)
    for number, event in enumerate(trigger.model.event or ()):
        if is_reserved(event) and event not in OWN_EVENTS:
            is_list = isinstance(trigger.document.root["event"], list)
            yield Diagnostic(
                trigger.place("event", *((number,) if is_list else ())), "reserved-event",
                f"bbops emits no event '{event}'",
                suggest(event, OWN_EVENTS) or f"there is {', '.join(OWN_EVENTS)}",
            )  # fmt: skip
        elif event in OWN_EVENTS and function is not None:
            yield from _brought(function, event, OWN_EVENTS[event])


def _brought(
    function: Resource[Function], event: str, brings: Sequence[str]
) -> Iterator[Diagnostic]:  # fmt: skip
    for name in function.model.payload or ():
        if not name.endswith("?") and name not in brings:
            yield Diagnostic(
                function.place("payload", name, key=True), "unknown-field",
                f"event '{event}' has no field '{name}'",
                suggest(name, brings) or f"it has {', '.join(brings)}",
            )  # fmt: skip


def _of_event(project: Project, trigger: Resource[Trigger]) -> Iterator[Diagnostic]:
    where = trigger.model.where
    if where is None:
        return
    outside = find_outside(project, trigger)
    if outside is None:
        return
    outside.condition(where, "where")
    yield from outside.found
    yield from decides_alone(trigger, where, "where")


def decides_alone(resource: Resource[Any], where: Bare, *path: str) -> Iterator[Diagnostic]:
    """Refuse what may give another answer when it is asked again."""
    wanted = sorted({*calls_of(where.node)}) if isinstance(where, Expression) else []
    for name in wanted:
        if name in FUNCTIONS and FUNCTIONS[name].needs_host:
            yield Diagnostic(
                resource.place(*path), "not-in-where",
                f"'{path[-1]}' of a {resource.model.noun or resource.kind} cannot use '{name}()'",
                "it goes by what has happened alone; decide the rest in the function",
            )  # fmt: skip


def calls_of(node: Node) -> Iterator[str]:
    """Yield the names of the functions that an expression calls."""
    if isinstance(node, FunctionCall):
        yield node.name
    for part in children(node):
        yield from calls_of(part)
