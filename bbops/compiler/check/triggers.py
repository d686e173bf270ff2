"""Conditions of triggers over the rows or the event they are about, and the keys of lanes.

`agent_starts` checks the same of the starts of agents.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from bbops.base.diagnostics import Diagnostic, article, suggest
from bbops.base.names import env_name
from bbops.compiler.check._outside import Outside
from bbops.compiler.check._ways import event_of, rows_of
from bbops.language.expressions.nodes import FunctionCall, Node, children
from bbops.language.expressions.types import map_of
from bbops.language.expressions.values import Bare, Expression
from bbops.language.project import Project, Resource
from bbops.language.resources._job import Debounce, Lane, Unique
from bbops.language.resources.function import Function
from bbops.language.resources.trigger import DatabaseTrigger, Trigger, Webhook
from bbops.language.shape import shape_types
from bbops.runtime.values.failures import FlowError
from bbops.runtime.values.filters import FUNCTIONS
from bbops.runtime.work.signatures import check_secret
from bbops.runtime.work.values import JOB_DEAD, OWN_EVENTS, is_reserved

_A: Final = {"lane": "a lane", "unique": "'unique'", "debounce": "'debounce'"}
_KEYS: Final = frozenset({"text", "integer", "any"})


def check(project: Project) -> Iterator[Diagnostic]:
    """Yield mistakes in conditions, keys, events and signatures."""
    for trigger in project.triggers.values():
        yield from check_rows(project, trigger, trigger.model.database, "database")
        if trigger.model.where is not None:
            yield from check_where(find_outside(project, trigger), trigger.model.where, "where")
        if trigger.model.webhook is not None:
            yield from check_public_keys(trigger, trigger.model.webhook, "webhook")
        yield from _own_events(project, trigger)
        for key in ("lane", "unique", "debounce"):
            yield from check_key(find_outside(project, trigger), getattr(trigger.model, key), key)
    for function in project.functions.values():
        if function.model.job is not None:
            yield from check_key(find_input(function), function.model.job.lane, "job", "lane")
    for one in project.on_dead:
        if one.function in project.functions:
            yield from _brought(project.functions[one.function], JOB_DEAD, OWN_EVENTS[JOB_DEAD])


def check_public_keys(
    resource: Resource[Any], webhook: Webhook, *path: str
) -> Iterator[Diagnostic]:  # fmt: skip
    """Refuse a public key in the file that its scheme cannot use; `path` leads to the webhook."""
    signature = webhook.signature
    for number, key in enumerate(signature.public_key):
        if not env_name(key):
            try:
                check_secret(signature.scheme, key)
            except FlowError as error:
                place = resource.place(*path, "signature", "publicKey", number)
                hint = f"copy the public key from the settings of {signature.scheme}"
                yield Diagnostic(place, "bad-value", error.message, hint)


def check_rows(
    project: Project, resource: Resource[Any], database: DatabaseTrigger | None, *path: str
) -> Iterator[Diagnostic]:
    """Yield the mistakes of `where` over rows; `path` leads to the map that names the table.

    A bare column is a column of the new row, or of the old row of a delete.
    """
    if database is None or database.where is None or database.table not in project.stored_tables:
        return
    rows = rows_of(project, database).fields or {}
    table = project.stored_tables[database.table]
    outside = Outside(resource, rows, table.column_types, table.name)
    outside.condition(database.where, *path, "where")
    yield from outside.found
    yield from decides_alone(resource, database.where, *path, "where")


def check_key(
    outside: Outside | None, keyed: Lane | Unique | Debounce | None, *path: str
) -> Iterator[Diagnostic]:
    """Yield the mistakes of a key, at `path`; none where nothing is known of what it may read."""
    if keyed is None or outside is None:
        return
    what, path, resource = path[-1], (*path, "key"), outside.resource
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
    function, events = project.functions.get(trigger.model.function), trigger.model.event or ()
    yield from check_own_events(trigger, events, "event")
    for event in events:
        if event in OWN_EVENTS and function is not None:
            yield from _brought(function, event, OWN_EVENTS[event])


def check_own_events(
    resource: Resource[Any], events: Sequence[str], *path: str
) -> Iterator[Diagnostic]:  # fmt: skip
    """Refuse unknown names of our own events; `path` leads to a name, or to a list of them."""
    for number, event in enumerate(events):
        if is_reserved(event) and event not in OWN_EVENTS:
            yield Diagnostic(
                resource.place(*path, number), "reserved-event", f"bbops emits no event '{event}'",
                suggest(event, OWN_EVENTS) or f"there is {', '.join(OWN_EVENTS)}",
            )  # fmt: skip


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


def check_where(outside: Outside | None, where: Bare, *path: str | int) -> Iterator[Diagnostic]:
    """Yield the mistakes of a condition, at `path`; none where its names are unknown."""
    if outside is None:
        return
    outside.condition(where, *path)
    yield from outside.found
    yield from decides_alone(outside.resource, where, *path)


def decides_alone(
    resource: Resource[Any], where: Bare, *path: str | int
) -> Iterator[Diagnostic]:  # fmt: skip
    """Refuse what may give another answer when it is asked again."""
    wanted = sorted({*calls_of(where.node)}) if isinstance(where, Expression) else []
    noun = article(resource.model.noun or resource.kind)
    for name in wanted:
        if name in FUNCTIONS and FUNCTIONS[name].needs_host:
            yield Diagnostic(
                resource.place(*path), "not-in-where",
                f"'{path[-1]}' of {noun} cannot use '{name}()'",
                "it goes by what has happened alone; decide the rest in the function",
            )  # fmt: skip


def calls_of(node: Node) -> Iterator[str]:
    """Yield the names of the functions that an expression calls."""
    if isinstance(node, FunctionCall):
        yield node.name
    for part in children(node):
        yield from calls_of(part)
