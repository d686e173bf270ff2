"""Deliveries and events of a draft: what it has received, would have sent, and emitted."""

from __future__ import annotations

from typing import Annotated, Final

from litestar.exceptions import NotFoundException
from litestar.params import Body, FromPath, QueryParameter

from bbops.base.json_deliveries import Delivery, DeliveryStory, JsonReceiver, StartedJob
from bbops.base.json_events import EmittedEvent, LoggedEvent, ReplayedEvents
from bbops.base.json_jobs import ChangedJobs
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.projects.deliveries import (
    MOST_NAME,
    Direction,
    OneDelivery,
    OneReceiver,
    answered,
    enable_in,
    repeat_in,
    show_from,
)
from bbops_server.control_plane.projects.events import Again, NewEvent, emit_in, replay_in
from bbops_server.control_plane.web.routes import change, read
from bbops_server.control_plane.web.visit import Here, Visit
from bbops_server.publish.projects.protocols import DraftWorkSource

_DRAFT: Final = "/api/projects/{name:str}/drafts/{slug:str}"


@read(f"{_DRAFT}/deliveries", Permission.READ_JOBS)
async def list_draft_deliveries(
    visit: Here, name: FromPath[str], slug: FromPath[str],
    direction: Annotated[Direction, QueryParameter()] = "",
    limit: Annotated[int, QueryParameter(ge=1, le=1_000)] = 100,
) -> list[Delivery]:  # fmt: skip
    """The deliveries of a draft, as `GET /api/projects/{name}/deliveries`."""
    work, _ = _find(visit, name, slug)
    return await answered(work.deliveries.list(direction, limit))


@read(f"{_DRAFT}/deliveries/story", Permission.READ_JOBS)
async def show_draft_delivery(
    visit: Here, name: FromPath[str], slug: FromPath[str],
    delivery: Annotated[str, QueryParameter(min_length=1, max_length=MOST_NAME)],
) -> DeliveryStory:  # fmt: skip
    """What is kept of a delivery of a draft."""
    work, _ = _find(visit, name, slug)
    return await show_from(work.deliveries, delivery)


@change(f"{_DRAFT}/deliveries/repeat", Permission.RUN_DRAFT_JOBS, status=200)
async def repeat_draft_delivery(
    visit: Here, name: FromPath[str], slug: FromPath[str], data: Annotated[OneDelivery, Body()]
) -> StartedJob:
    """Make a job again of a delivery that a draft has received."""
    work, found = _find(visit, name, slug)
    return await repeat_in(visit, f"{name} {found}", work.deliveries, data.delivery)


@read(f"{_DRAFT}/receivers", Permission.READ_JOBS)
async def list_draft_receivers(
    visit: Here, name: FromPath[str], slug: FromPath[str],
    limit: Annotated[int, QueryParameter(ge=1, le=1_000)] = 100,
    disabled: Annotated[bool, QueryParameter()] = False,  # noqa: FBT002 - a query
) -> list[JsonReceiver]:  # fmt: skip
    """The receivers that a draft would send to, without their secrets."""
    work, _ = _find(visit, name, slug)
    return [*await answered(work.deliveries.receivers(limit, disabled=disabled))]


@change(f"{_DRAFT}/receivers/enable", Permission.RUN_DRAFT_JOBS, status=200)
async def enable_draft_receiver(
    visit: Here, name: FromPath[str], slug: FromPath[str], data: Annotated[OneReceiver, Body()]
) -> ChangedJobs:
    """Enable a receiver of a draft that is disabled."""
    work, found = _find(visit, name, slug)
    return await enable_in(visit, f"{name} {found}", work.deliveries, data)


@read(f"{_DRAFT}/events", Permission.READ_JOBS)
async def list_draft_events(
    visit: Here, name: FromPath[str], slug: FromPath[str],
    event: Annotated[str, QueryParameter(max_length=200)] = "",
    limit: Annotated[int, QueryParameter(ge=1, le=1_000)] = 100,
) -> list[LoggedEvent]:  # fmt: skip
    """The events of a draft, as `GET /api/projects/{name}/events`."""
    work, _ = _find(visit, name, slug)
    return await answered(work.events.list(event, limit))


@change(f"{_DRAFT}/events/emit", Permission.RUN_DRAFT_JOBS, status=200)
async def emit_draft_event(
    visit: Here, name: FromPath[str], slug: FromPath[str], data: Annotated[NewEvent, Body()]
) -> EmittedEvent:
    """Emit an event in a draft; the jobs that it makes are held."""
    work, found = _find(visit, name, slug)
    return await emit_in(visit, f"{name} {found}", work.events, data)


@change(f"{_DRAFT}/events/replay", Permission.RUN_DRAFT_JOBS, status=200)
async def replay_draft_events(
    visit: Here, name: FromPath[str], slug: FromPath[str], data: Annotated[Again, Body()]
) -> ReplayedEvents:
    """Make jobs of a trigger again for the events of a draft, or count them."""
    work, found = _find(visit, name, slug)
    return await replay_in(visit, f"{name} {found}", work.events, data)


def _find(visit: Visit, name: str, slug: str) -> tuple[DraftWorkSource, str]:
    drafts = visit.control.status.drafts(name)
    found = drafts.find(slug) if drafts is not None else None
    if drafts is None or found is None:
        raise NotFoundException(f"project '{name}' has no draft '{slug}'")
    return drafts.work(found.slug), found.slug


ROUTES = (
    list_draft_deliveries, show_draft_delivery, repeat_draft_delivery, list_draft_receivers,
    enable_draft_receiver, list_draft_events, emit_draft_event, replay_draft_events,
)  # fmt: skip
