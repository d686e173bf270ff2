"""Starts of agents: rows, events, webhooks and messages, as triggers have them."""

from __future__ import annotations

from collections.abc import Iterator

from bbops.base.diagnostics import Diagnostic, suggest
from bbops.compiler.check._outside import Outside
from bbops.compiler.check._ways import event_of
from bbops.compiler.check.triggers import (
    check_key,
    check_own_events,
    check_public_keys,
    check_rows,
    check_where,
)
from bbops.language.project import Project, Resource
from bbops.language.resources.agent import Agent, EventStart, RealtimeStart
from bbops.language.resources.realtime import Realtime
from bbops.runtime.work.values import AGENT_EVENTS

_ROOT = "runsOn"


def check(project: Project) -> Iterator[Diagnostic]:
    """Yield mistakes in conditions, keys, events and signatures of starts."""
    for agent in project.agents.values():
        runs_on = agent.model.runs_on
        yield from check_rows(project, agent, runs_on.database, _ROOT, "database")
        if runs_on.webhook is not None:
            yield from check_public_keys(agent, runs_on.webhook, _ROOT, "webhook")
        if runs_on.event is not None:
            yield from _event(agent, runs_on.event)
        if runs_on.realtime is not None:
            yield from _realtime(project, agent, runs_on.realtime)


def _event(agent: Resource[Agent], start: EventStart) -> Iterator[Diagnostic]:
    yield from check_own_events(agent, start.event, _ROOT, "event", "event")
    told = [event for event in start.event if event in AGENT_EVENTS]
    if told and start.where is None:
        message = f"each run of agent '{agent.name}' emits '{told[0]}', which starts it again"
        hint = f"add 'where: event.payload.agent != \"{agent.name}\"', or use a trigger"
        yield Diagnostic(agent.place(_ROOT, "event"), "bad-value", message, hint)
    if start.where is not None:
        yield from check_where(find_event(agent), start.where, _ROOT, "event", "where")
    yield from check_key(find_event(agent), start.unique, _ROOT, "event", "unique")
    yield from check_key(find_event(agent), start.debounce, _ROOT, "event", "debounce")


def _realtime(
    project: Project, agent: Resource[Agent], start: RealtimeStart
) -> Iterator[Diagnostic]:
    topic = project.realtime.get(str(start.topic))
    if topic is None:
        return  # see `references`
    place = agent.place(_ROOT, "realtime", "topic")
    if topic.model.rows is not None:
        message = f"topic '{topic.name}' has the changes of rows, and no messages"
        hint = f"use 'database: {{ table: {topic.model.rows.table}, operation: … }}' in its place"
        yield Diagnostic(place, "bad-value", message, hint)
    elif not topic.model.events:
        message = f"topic '{topic.name}' has no 'events'"
        hint = f"declare what is published in {topic.file}"
        yield Diagnostic(place, "bad-value", message, hint)
    elif start.event is not None and start.event not in topic.model.events:
        place = agent.place(_ROOT, "realtime", "event")
        message = f"realtime '{topic.name}' has no event '{start.event}'"
        hint = suggest(start.event, topic.model.events) or "declare it under 'events' there"
        yield Diagnostic(place, "unknown-event", message, hint)
    elif start.where is not None:
        outside = find_message(agent, topic, start)
        yield from check_where(outside, start.where, _ROOT, "realtime", "where")


def find_event(agent: Resource[Agent]) -> Outside:
    """Return the scope of conditions and keys of an event start; the payload is open."""
    return Outside(agent, {"event": event_of(None)})


def find_message(
    agent: Resource[Agent], topic: Resource[Realtime], start: RealtimeStart
) -> Outside:
    """Return the scope of the condition of a realtime start.

    The payload has the shape of the event; it is open if messages of several events start it.
    """
    events = topic.model.events
    name = start.event or (next(iter(events)) if len(events) == 1 else "")
    return Outside(agent, {"event": event_of(events.get(name))})
