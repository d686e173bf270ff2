"""Deliveries of a project's webhooks, seen and repeated by who runs the project."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Annotated, Final, Literal, TypeVar

import msgspec
from litestar.exceptions import NotFoundException
from litestar.params import Body, FromPath, QueryParameter

from bbops.base.errors import BbopsError, ServerError
from bbops.base.json_deliveries import Delivery, DeliveryStory, JsonReceiver, StartedJob
from bbops.base.json_jobs import ChangedJobs
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.web.refusals import refuse
from bbops_server.control_plane.web.routes import change, read
from bbops_server.control_plane.web.visit import Here, Visit
from bbops_server.publish.projects.protocols import DeliverySource

T = TypeVar("T")

MOST_NAME: Final = 800
Direction = Literal["", "received", "sent"]


class OneDelivery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A delivery by its name, such as `triggers/paid@evt_1`."""

    delivery: Annotated[str, msgspec.Meta(min_length=1, max_length=MOST_NAME)]


class OneReceiver(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A receiver of a webhook: the key of its row, or what the project names it by."""

    webhook: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    receiver: Annotated[str, msgspec.Meta(min_length=1, max_length=2_000)]


@read("/api/projects/{name:str}/deliveries", Permission.READ_JOBS)
async def list_deliveries(
    visit: Here, name: FromPath[str], direction: Annotated[Direction, QueryParameter()] = "",
    limit: Annotated[int, QueryParameter(ge=1, le=1_000)] = 100,
) -> list[Delivery]:  # fmt: skip
    """Deliveries of webhooks that were received and sent, the newest first."""
    return await answered(_deliveries(visit, name).list(direction, limit))


@read("/api/projects/{name:str}/deliveries/story", Permission.READ_JOBS)
async def show_delivery(
    visit: Here, name: FromPath[str],
    delivery: Annotated[str, QueryParameter(min_length=1, max_length=MOST_NAME)],
) -> DeliveryStory:  # fmt: skip
    """What is kept of a delivery: headers and body, or the tries of one that was sent."""
    return await show_from(_deliveries(visit, name), delivery)


@change("/api/projects/{name:str}/deliveries/repeat", Permission.MANAGE_JOBS, status=200)
async def repeat_delivery(
    visit: Here, name: FromPath[str], data: Annotated[OneDelivery, Body()]
) -> StartedJob:
    """Run a delivery again that was received, or send one again that was sent; as a new job."""
    return await repeat_in(visit, name, _deliveries(visit, name), data.delivery)


@read("/api/projects/{name:str}/receivers", Permission.READ_JOBS)
async def list_receivers(
    visit: Here, name: FromPath[str], limit: Annotated[int, QueryParameter(ge=1, le=1_000)] = 100,
    disabled: Annotated[bool, QueryParameter()] = False,  # noqa: FBT002 - a query
) -> list[JsonReceiver]:  # fmt: skip
    """The receivers of webhooks, without their secrets; with `disabled` only those that are."""
    return [*await answered(_deliveries(visit, name).receivers(limit, disabled=disabled))]


@change("/api/projects/{name:str}/receivers/enable", Permission.MANAGE_JOBS, status=200)
async def enable_receiver(
    visit: Here, name: FromPath[str], data: Annotated[OneReceiver, Body()]
) -> ChangedJobs:
    """Let a receiver be told again that was disabled."""
    return await enable_in(visit, name, _deliveries(visit, name), data)


# ---- of whichever source: of a project, or of a draft
async def answered(asked: Awaitable[T]) -> T:
    """Return what a source answers. Raises: HTTPException: it cannot."""
    try:
        return await asked
    except BbopsError as error:
        raise refuse(error) from None


async def show_from(source: DeliverySource, delivery: str) -> DeliveryStory:
    """Return what is kept of a delivery. Raises: HTTPException: nothing is."""
    found = await answered(source.show(delivery))
    if found is None:
        raise _missing(delivery)
    return found


async def repeat_in(visit: Visit, where: str, source: DeliverySource, delivery: str) -> StartedJob:
    """Repeat a delivery, on record. Raises: HTTPException: there is none of that name."""
    job = await answered(source.repeat(delivery))
    if not job:
        raise _missing(delivery)
    await visit.note("repeat delivery", object=f"{where} {delivery}")
    return StartedJob(job)


async def enable_in(
    visit: Visit, where: str, source: DeliverySource, one: OneReceiver
) -> ChangedJobs:
    """Let a receiver be told again, on record."""
    is_changed = await answered(source.enable(one.webhook, one.receiver))
    await visit.note("enable receiver", object=f"{where} {one.webhook} {one.receiver}")
    return ChangedJobs(int(is_changed))


def _missing(delivery: str) -> Exception:
    hint = "'bbops deliveries list' shows those of the last 30 days"
    return refuse(ServerError(f"there is no delivery '{delivery}'", hint=hint))


def _deliveries(visit: Visit, name: str) -> DeliverySource:
    found = visit.control.status.deliveries(name)
    if found is None:
        raise NotFoundException(f"there is no project '{name}'")
    return found


ROUTES = (list_deliveries, show_delivery, repeat_delivery, list_receivers, enable_receiver)
