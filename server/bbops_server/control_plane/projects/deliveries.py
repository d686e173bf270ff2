"""Webhook deliveries and receivers of a project or draft."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from litestar.params import Body, QueryParameter

from bbops.base.errors import ServerError
from bbops.base.json_work import ChangedJobs, Delivery, DeliveryStory, JsonReceiver, StartedJob
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.projects.visited_project import (
    Visited,
    VisitedProject,
    change_both,
    read_both,
)
from bbops_server.control_plane.web.refusals import refuse
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


@read_both("/deliveries", Permission.READ_JOBS)
async def list_deliveries(
    project: Visited, direction: Annotated[Direction, QueryParameter()] = "", limit: Limit = 100
) -> list[Delivery]:  # fmt: skip
    """Received and sent deliveries, newest first."""
    return (await project.ask(ListDeliveries, direction, limit)).deliveries


@read_both("/deliveries/story", Permission.READ_JOBS)
async def show_delivery(project: Visited, delivery: Name) -> DeliveryStory:
    """The record of a delivery: headers and body, and the attempts of a sent one."""
    return await find_delivery(project, delivery)


@change_both("/deliveries/repeat", Permission.MANAGE_JOBS, Permission.RUN_DRAFT_JOBS)
async def repeat_delivery(project: Visited, data: Annotated[OneDelivery, Body()]) -> StartedJob:
    """Replay a received delivery, or resend a sent one, as a new job."""
    return await repeat(project, data.delivery)


@read_both("/receivers", Permission.READ_JOBS)
async def list_receivers(
    project: Visited, limit: Limit = 100,
    disabled: Annotated[bool, QueryParameter()] = False,  # noqa: FBT002 - a query
) -> list[JsonReceiver]:  # fmt: skip
    """Receivers of webhooks, without their secrets; with `disabled`, only disabled ones."""
    return (await project.ask(ListReceivers, limit, disabled)).receivers


@change_both("/receivers/enable", Permission.MANAGE_JOBS, Permission.RUN_DRAFT_JOBS)
async def enable_receiver(project: Visited, data: Annotated[OneReceiver, Body()]) -> ChangedJobs:
    """Enable a disabled receiver."""
    return await enable(project, data)


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
    *list_deliveries, *show_delivery, *repeat_delivery, *list_receivers, *enable_receiver,
)  # fmt: skip
