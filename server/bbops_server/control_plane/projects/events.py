"""Events of a project, seen, emitted and run again by who runs the project."""

from __future__ import annotations

import json
from typing import Annotated, Any

import msgspec
from litestar.exceptions import NotFoundException
from litestar.params import Body, FromPath, QueryParameter

from bbops.base.json_events import EmittedEvent, LoggedEvent, ReplayedEvents
from bbops.base.names import EVENT_NAME
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.projects.deliveries import answered
from bbops_server.control_plane.web.routes import change, read
from bbops_server.control_plane.web.visit import Here, Visit
from bbops_server.publish.projects.protocols import EventSource


class NewEvent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An event and its payload."""

    event: Annotated[str, msgspec.Meta(pattern=EVENT_NAME)]
    payload: Any = None


class Again(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A trigger that is to run again, and since when; `dryRun` runs nothing, and counts."""

    trigger: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    since: float
    dry_run: bool = msgspec.field(default=False, name="dryRun")


@read("/api/projects/{name:str}/events", Permission.READ_JOBS)
async def list_events(
    visit: Here, name: FromPath[str],
    event: Annotated[str, QueryParameter(max_length=200)] = "",
    limit: Annotated[int, QueryParameter(ge=1, le=1_000)] = 100,
) -> list[LoggedEvent]:  # fmt: skip
    """Events of the last 7 days, the newest first; with `event` only those."""
    return await answered(_events(visit, name).list(event, limit))


@change("/api/projects/{name:str}/events/emit", Permission.MANAGE_JOBS, status=200)
async def emit_event(
    visit: Here, name: FromPath[str], data: Annotated[NewEvent, Body()]
) -> EmittedEvent:
    """Emit an event, as a step 'emit' does."""
    return await emit_in(visit, name, _events(visit, name), data)


@change("/api/projects/{name:str}/events/replay", Permission.MANAGE_JOBS, status=200)
async def replay_events(
    visit: Here, name: FromPath[str], data: Annotated[Again, Body()]
) -> ReplayedEvents:
    """Run a trigger again for the events of the log, or count them."""
    return await replay_in(visit, name, _events(visit, name), data)


# ---- of whichever source: of a project, or of a draft
async def emit_in(visit: Visit, where: str, source: EventSource, one: NewEvent) -> EmittedEvent:
    """Emit an event, on record."""
    found = await answered(source.emit(one.event, json.dumps(one.payload)))
    await visit.note("emit event", object=f"{where} {one.event}")
    return EmittedEvent(found)


async def replay_in(visit: Visit, where: str, source: EventSource, one: Again) -> ReplayedEvents:
    """Run a trigger again for the events of the log, on record, or count them."""
    trigger = f"triggers/{one.trigger.removeprefix('triggers/').removesuffix('.yaml')}"
    count = await answered(source.replay(trigger, one.since, counts=one.dry_run))
    if not one.dry_run:
        await visit.note("replay events", object=f"{where} {trigger}: {count}")
    return ReplayedEvents(count)


def _events(visit: Visit, name: str) -> EventSource:
    found = visit.control.status.events(name)
    if found is None:
        raise NotFoundException(f"there is no project '{name}'")
    return found


ROUTES = (list_events, emit_event, replay_events)
