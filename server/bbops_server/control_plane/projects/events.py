"""The event log of a project or draft: list, emit, replay."""

from __future__ import annotations

import json
from typing import Annotated, Any

import msgspec
from litestar.params import Body, FromPath, QueryParameter

from bbops.base.json_work import EmittedEvent, LoggedEvent, ReplayedEvents
from bbops.base.names import EVENT_NAME
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.projects.visited_project import DRAFT, PROJECT, VisitedProject
from bbops_server.control_plane.web.routes import change, read
from bbops_server.control_plane.web.visit import Here
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


@read(f"{PROJECT}/events", Permission.READ_JOBS)
async def list_events(
    visit: Here, name: FromPath[str],
    event: Annotated[str, QueryParameter(max_length=200)] = "",
    limit: Annotated[int, QueryParameter(ge=1, le=1_000)] = 100,
) -> list[LoggedEvent]:  # fmt: skip
    """Events of the last 7 days, newest first; `event` is a name to filter by."""
    return (await VisitedProject.open(visit, name).ask(ListEvents, event, limit)).events


@change(f"{PROJECT}/events/emit", Permission.MANAGE_JOBS, status=200)
async def emit_event(
    visit: Here, name: FromPath[str], data: Annotated[NewEvent, Body()]
) -> EmittedEvent:
    """Emit an event, as the step `emit` does."""
    return await _emit(VisitedProject.open(visit, name), data)


@change(f"{PROJECT}/events/replay", Permission.MANAGE_JOBS, status=200)
async def replay_events(
    visit: Here, name: FromPath[str], data: Annotated[ReplayRequest, Body()]
) -> ReplayedEvents:
    """Run a trigger again for logged events, or count them."""
    return await replay(VisitedProject.open(visit, name), data)


@read(f"{DRAFT}/events", Permission.READ_JOBS)
async def list_draft_events(
    visit: Here, name: FromPath[str], slug: FromPath[str],
    event: Annotated[str, QueryParameter(max_length=200)] = "",
    limit: Annotated[int, QueryParameter(ge=1, le=1_000)] = 100,
) -> list[LoggedEvent]:  # fmt: skip
    """The events of a draft, as `GET /api/projects/{name}/events`."""
    draft = VisitedProject.open_draft(visit, name, slug)
    return (await draft.ask(ListEvents, event, limit)).events


@change(f"{DRAFT}/events/emit", Permission.RUN_DRAFT_JOBS, status=200)
async def emit_draft_event(
    visit: Here, name: FromPath[str], slug: FromPath[str], data: Annotated[NewEvent, Body()]
) -> EmittedEvent:
    """Emit an event in a draft; its jobs are held."""
    return await _emit(VisitedProject.open_draft(visit, name, slug), data)


@change(f"{DRAFT}/events/replay", Permission.RUN_DRAFT_JOBS, status=200)
async def replay_draft_events(
    visit: Here, name: FromPath[str], slug: FromPath[str], data: Annotated[ReplayRequest, Body()]
) -> ReplayedEvents:
    """Run a trigger of a draft again for logged events, as held jobs, or count the events."""
    return await replay(VisitedProject.open_draft(visit, name, slug), data)


async def _emit(project: VisitedProject, event: NewEvent) -> EmittedEvent:
    emitted = await project.ask(EmitEvent, event.event, json.dumps(event.payload))
    await project.note("emit event", event.event)
    return EmittedEvent(emitted.triggers)


async def replay(project: VisitedProject, request: ReplayRequest) -> ReplayedEvents:
    """Run a trigger again for logged events, or count them."""
    trigger = request.trigger
    if not trigger.startswith("agents/"):
        trigger = f"triggers/{trigger.removeprefix('triggers/').removesuffix('.yaml')}"
    replayed = await project.ask(ReplayEvents, trigger, request.since, request.dry_run)
    if not request.dry_run:
        await project.note("replay events", f"{trigger}: {replayed.count}")
    return ReplayedEvents(replayed.count)


ROUTES = (
    list_events, emit_event, replay_events,
    list_draft_events, emit_draft_event, replay_draft_events,
)  # fmt: skip
