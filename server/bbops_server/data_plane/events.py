"""Events of a project, for the parent: listed, emitted, and run again."""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from typing import Any, Final

from bbops.base.diagnostics import suggest
from bbops.base.errors import ServerError
from bbops.base.json_work import LoggedEvent
from bbops.database.open import work_dialect
from bbops.runtime.work.events import MAX_REPLAYED, EventLog
from bbops.runtime.work.rows import is_row_event
from bbops.runtime.work.values import RESERVED_PREFIX, ProjectEvent, is_reserved
from bbops.runtime.work.webhooks import display_name
from bbops_server.data_plane.jobs import Answers, database_of
from bbops_server.data_plane.live.swap import Live
from bbops_server.process.messages.events import (
    EmitEvent,
    EmitEventAnswer,
    ListEvents,
    ListEventsAnswer,
    ReplayEvents,
    ReplayEventsAnswer,
)


async def _list(live: Live, request: ListEvents) -> ListEventsAnswer:
    found = await _log(live).list(request.name, request.most)
    return ListEventsAnswer([_shown(live, one) for one in found])


async def _emit(live: Live, request: EmitEvent) -> EmitEventAnswer:
    if is_reserved(request.event):
        hint = f"give the event an entity of your own, not '{RESERVED_PREFIX}'"
        raise ServerError(f"only bbops emits '{request.event}'", hint=hint)
    log = _log(live)
    if live.release is None or not live.release.has_work:
        raise ServerError("the project has no trigger, so nothing waits for an event")
    await log.emit(request.event, request.payload)
    every = live.release.triggers
    return EmitEventAnswer([name for name, events in every.items() if request.event in events])


async def _replay(live: Live, request: ReplayEvents) -> ReplayEventsAnswer:
    log, since = _log(live), round(1000 * request.since)
    events = _events_of(live, request.trigger)
    count = await log.count(events, since)
    if count > MAX_REPLAYED:
        hint = f"one replay runs {MAX_REPLAYED:,} at most: take a later '--since'"
        raise ServerError(f"there are {count:,} events", hint=hint)
    if request.counts:
        return ReplayEventsAnswer(count)
    return ReplayEventsAnswer(
        await log.replay(request.trigger, events, since, secrets.token_hex(4))
    )


def _events_of(live: Live, trigger: str) -> Sequence[str]:
    """Return what a trigger waits for.

    Raises:
        ServerError: there is no such trigger, or the log does not hold what it needs.
    """
    every = live.release.triggers if live.release else {}
    if trigger not in every:
        hint = suggest(trigger, every) or "'bbops describe' lists those there are"
        raise ServerError(f"the project has no live trigger '{trigger}'", hint=hint)
    if any(map(is_row_event, every[trigger])):
        hint = "the log of events does not hold rows"
        raise ServerError(f"'{trigger}' runs on changed rows, which cannot run again", hint=hint)
    return every[trigger]


def _shown(live: Live, one: ProjectEvent) -> LoggedEvent:
    payload = _masked(live, one.payload)
    name = display_name(one.name)
    return LoggedEvent(one.id, name, one.at / 1000, one.key, payload, one.cause.job)


def _masked(live: Live, payload: str) -> str:
    """Return a payload without secrets and private columns."""
    try:
        found: Any = json.loads(payload)
    except ValueError:  # what SQL has written
        found = payload
    return json.dumps(live.release.answering.mask.value(found)) if live.release else "null"


def _log(live: Live) -> EventLog:
    database = database_of(live)
    return EventLog(database, work_dialect(database))


EVENT_ANSWERS: Final[Answers] = {ListEvents: _list, EmitEvent: _emit, ReplayEvents: _replay}
