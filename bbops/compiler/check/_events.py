"""What the project says of events: payloads of triggers' functions, of realtime, of webhooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bbops.language.expressions.types import Type, map_of
from bbops.language.project import Project
from bbops.language.resources.webhook import FixedReceiver, ReceiverTable
from bbops.language.shape import shape_types
from bbops.language.steps._surroundings import SentWebhook, Topic


def find_topics(project: Project) -> Mapping[str, Topic]:
    """Return each topic by its file's name, with the payloads of its events as given to it."""
    found: dict[str, Topic] = {}
    for name, realtime in project.realtime.items():
        events = {
            event: map_of(shape_types(shape, given=True), f"event '{event}'")
            for event, shape in realtime.model.events.items()
        }
        found[name] = Topic(realtime.model.parameters, events)
    return found


def find_webhooks(project: Project) -> Mapping[str, SentWebhook]:
    """Return each webhook by its file's name, with the payloads of its events as given to it."""
    found: dict[str, SentWebhook] = {}
    for name, webhook in project.webhooks.items():
        events = {
            event: map_of(shape_types(shape, given=True), f"event '{event}'")
            for event, shape in webhook.model.events.items()
        }
        found[name] = SentWebhook(events, _owner(project, webhook.model.receivers))
    return found


def _owner(project: Project, receivers: ReceiverTable | Sequence[FixedReceiver]) -> str | None:
    """Return the kind of the column that says whose a receiver is; None without one."""
    if not isinstance(receivers, ReceiverTable) or receivers.owner is None:
        return None
    table = project.stored_tables.get(receivers.table)
    column = table.columns.get(receivers.owner) if table else None
    return "integer" if column and column.type in {"integer", "bigint"} else "text"


def find_payloads(project: Project) -> Mapping[str, Sequence[Type]]:
    """Return for each event that something waits for the payloads that functions declare."""
    found: dict[str, list[Type]] = {}
    for trigger in project.triggers.values():
        function = project.functions.get(trigger.model.function)
        for event in trigger.model.event or ():
            types = found.setdefault(event, [])
            if function is not None and function.model.payload is not None:
                what = f"the payload of '{function.name}'"
                types.append(map_of(shape_types(function.model.payload, given=True), what))
    for function in project.functions.values():
        for step in function.model.every_step:
            if (heard := step.hears()) is not None:
                found.setdefault(heard, [])
    for agent in project.agents.values():
        started = agent.model.runs_on.event
        for event in started.event if started is not None else ():
            found.setdefault(event, [])
    return found
