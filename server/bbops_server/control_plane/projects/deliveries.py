"""Webhook deliveries and receivers of a project or draft."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from litestar.params import Body, FromPath, QueryParameter

from bbops.base.errors import ServerError
from bbops.base.json_work import ChangedJobs, Delivery, DeliveryStory, JsonReceiver, StartedJob
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.projects.visited_project import DRAFT, PROJECT, VisitedProject
from bbops_server.control_plane.web.refusals import refuse
from bbops_server.control_plane.web.routes import change, read
from bbops_server.control_plane.web.visit import Here
from bbops_server.process.messages.deliveries import (
    EnableReceiver,
    ListDeliveries,
    ListReceivers,
    RepeatDelivery,
    ShowDelivery,
)

_MAX_NAME: Final = 800
Direction = Literal["", "received", "sent"]
Limit = Annotated[int, QueryParameter(ge=1, le=1_000)]
Name = Annotated[str, QueryParameter(min_length=1, max_length=_MAX_NAME)]


class OneDelivery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The name of a delivery, such as `triggers/paid@evt_1`."""

    delivery: Annotated[str, msgspec.Meta(min_length=1, max_length=_MAX_NAME)]


class OneReceiver(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A receiver of a webhook: the key of its row, or its name in the project."""

    webhook: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    receiver: Annotated[str, msgspec.Meta(min_length=1, max_length=2_000)]


@read(f"{PROJECT}/deliveries", Permission.READ_JOBS)
async def list_deliveries(
    visit: Here, name: FromPath[str], direction: Annotated[Direction, QueryParameter()] = "",
    limit: Limit = 100,
) -> list[Delivery]:  # fmt: skip
    """Received and sent deliveries, newest first."""
    project = VisitedProject.open(visit, name)
    return (await project.ask(ListDeliveries, direction, limit)).deliveries


@read(f"{PROJECT}/deliveries/story", Permission.READ_JOBS)
async def show_delivery(visit: Here, name: FromPath[str], delivery: Name) -> DeliveryStory:
    """The record of a delivery: headers and body, and the attempts of a sent one."""
    return await find_delivery(VisitedProject.open(visit, name), delivery)


@change(f"{PROJECT}/deliveries/repeat", Permission.MANAGE_JOBS, status=200)
async def repeat_delivery(
    visit: Here, name: FromPath[str], data: Annotated[OneDelivery, Body()]
) -> StartedJob:
    """Replay a received delivery, or resend a sent one, as a new job."""
    return await repeat(VisitedProject.open(visit, name), data.delivery)


@read(f"{PROJECT}/receivers", Permission.READ_JOBS)
async def list_receivers(
    visit: Here, name: FromPath[str], limit: Limit = 100,
    disabled: Annotated[bool, QueryParameter()] = False,  # noqa: FBT002 - a query
) -> list[JsonReceiver]:  # fmt: skip
    """Receivers of webhooks, without their secrets; with `disabled`, only disabled ones."""
    return (await VisitedProject.open(visit, name).ask(ListReceivers, limit, disabled)).receivers


@change(f"{PROJECT}/receivers/enable", Permission.MANAGE_JOBS, status=200)
async def enable_receiver(
    visit: Here, name: FromPath[str], data: Annotated[OneReceiver, Body()]
) -> ChangedJobs:
    """Enable a disabled receiver."""
    return await enable(VisitedProject.open(visit, name), data)


@read(f"{DRAFT}/deliveries", Permission.READ_JOBS)
async def list_draft_deliveries(
    visit: Here, name: FromPath[str], slug: FromPath[str],
    direction: Annotated[Direction, QueryParameter()] = "", limit: Limit = 100,
) -> list[Delivery]:  # fmt: skip
    """The deliveries of a draft, as `GET /api/projects/{name}/deliveries`."""
    draft = VisitedProject.open_draft(visit, name, slug)
    return (await draft.ask(ListDeliveries, direction, limit)).deliveries


@read(f"{DRAFT}/deliveries/story", Permission.READ_JOBS)
async def show_draft_delivery(
    visit: Here, name: FromPath[str], slug: FromPath[str], delivery: Name
) -> DeliveryStory:
    """The record of a draft's delivery."""
    return await find_delivery(VisitedProject.open_draft(visit, name, slug), delivery)


@change(f"{DRAFT}/deliveries/repeat", Permission.RUN_DRAFT_JOBS, status=200)
async def repeat_draft_delivery(
    visit: Here, name: FromPath[str], slug: FromPath[str], data: Annotated[OneDelivery, Body()]
) -> StartedJob:
    """Replay a delivery that a draft has received, as a new job."""
    return await repeat(VisitedProject.open_draft(visit, name, slug), data.delivery)


@read(f"{DRAFT}/receivers", Permission.READ_JOBS)
async def list_draft_receivers(
    visit: Here, name: FromPath[str], slug: FromPath[str], limit: Limit = 100,
    disabled: Annotated[bool, QueryParameter()] = False,  # noqa: FBT002 - a query
) -> list[JsonReceiver]:  # fmt: skip
    """The receivers of a draft, without their secrets."""
    draft = VisitedProject.open_draft(visit, name, slug)
    return (await draft.ask(ListReceivers, limit, disabled)).receivers


@change(f"{DRAFT}/receivers/enable", Permission.RUN_DRAFT_JOBS, status=200)
async def enable_draft_receiver(
    visit: Here, name: FromPath[str], slug: FromPath[str], data: Annotated[OneReceiver, Body()]
) -> ChangedJobs:
    """Enable a disabled receiver of a draft."""
    return await enable(VisitedProject.open_draft(visit, name, slug), data)


async def find_delivery(project: VisitedProject, delivery: str) -> DeliveryStory:
    """Return the record of a delivery. Raises: HTTPException: it does not exist."""
    story = (await project.ask(ShowDelivery, delivery)).story
    if story is None:
        raise _missing(delivery)
    return story


async def repeat(project: VisitedProject, delivery: str) -> StartedJob:
    """Replay or resend a delivery. Raises: HTTPException: it does not exist."""
    job = (await project.ask(RepeatDelivery, delivery)).job
    if not job:
        raise _missing(delivery)
    await project.note("repeat delivery", delivery)
    return StartedJob(job)


async def enable(project: VisitedProject, receiver: OneReceiver) -> ChangedJobs:
    """Enable a disabled receiver. Raises: HTTPException: the request failed."""
    enabled = await project.ask(EnableReceiver, receiver.webhook, receiver.receiver)
    await project.note("enable receiver", f"{receiver.webhook} {receiver.receiver}")
    return ChangedJobs(int(enabled.is_changed))


def _missing(delivery: str) -> Exception:
    hint = "'bbops deliveries list' shows those of the last 30 days"
    return refuse(ServerError(f"there is no delivery '{delivery}'", hint=hint), 404)


ROUTES = (
    list_deliveries, show_delivery, repeat_delivery, list_receivers, enable_receiver,
    list_draft_deliveries, show_draft_delivery, repeat_draft_delivery, list_draft_receivers,
    enable_draft_receiver,
)  # fmt: skip
