"""The event log of a project or draft: list, emit, replay."""

from __future__ import annotations

import json
from typing import Annotated, Any

import msgspec
from litestar.params import Body, QueryParameter

from bbops.base.json_work import EmittedEvent, LoggedEvent, ReplayedEvents
from bbops.base.names import EVENT_NAME
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.projects.visited_project import (
    Visited,
    VisitedProject,
    change_both,
    read_both,
)
from bbops_server.process.messages.events import EmitEvent, ListEvents, ReplayEvents


class NewEvent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An event and its payload."""

    event: Annotated[str, msgspec.Meta(pattern=EVENT_NAME)]
    payload: Any = None


class ReplayRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A trigger to run again for events since a Unix time; `dryRun` only counts them."""

    trigger: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    since: float
    dry_run: bool = msgspec.field(default=False, name="dryRun")


@read_both("/events", Permission.READ_JOBS)
async def list_events(
    project: Visited,
    event: Annotated[str, QueryParameter(max_length=200)] = "",
    limit: Annotated[int, QueryParameter(ge=1, le=1_000)] = 100,
) -> list[LoggedEvent]:  # fmt: skip
    """Events of the last 7 days, newest first; `event` is a name to filter by."""
    return (await project.ask(ListEvents, event, limit)).events


@change_both("/events/emit", Permission.MANAGE_JOBS, Permission.RUN_DRAFT_JOBS)
async def emit_event(project: Visited, data: Annotated[NewEvent, Body()]) -> EmittedEvent:
    """Emit an event, as the step `emit` does."""
    emitted = await project.ask(EmitEvent, data.event, json.dumps(data.payload))
    await project.note("emit event", data.event)
    return EmittedEvent(emitted.triggers)


@change_both("/events/replay", Permission.MANAGE_JOBS, Permission.RUN_DRAFT_JOBS)
async def replay_events(project: Visited, data: Annotated[ReplayRequest, Body()]) -> ReplayedEvents:
    """Run a trigger again for logged events, or count them."""
    return await replay(project, data)


async def replay(project: VisitedProject, request: ReplayRequest) -> ReplayedEvents:
    """Run a trigger again for logged events, or count them."""
    trigger = request.trigger
    if not trigger.startswith("agents/"):
        trigger = f"triggers/{trigger.removeprefix('triggers/').removesuffix('.yaml')}"
    replayed = await project.ask(ReplayEvents, trigger, request.since, request.dry_run)
    if not request.dry_run:
        await project.note("replay events", f"{trigger}: {replayed.count}")
    return ReplayedEvents(replayed.count)


ROUTES = (*list_events, *emit_event, *replay_events)
