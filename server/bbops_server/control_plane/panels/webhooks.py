"""The page of webhooks: deliveries and receivers, with the operations of `bbops deliveries`."""

from __future__ import annotations

from typing import Annotated, Any, Final, get_args

from litestar import Response
from litestar.exceptions import ClientException
from litestar.params import FromPath, QueryParameter

from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.projects.deliveries import (
    Direction,
    OneReceiver,
    enable,
    find_delivery,
    repeat,
)
from bbops_server.control_plane.projects.visited_project import VisitedProject
from bbops_server.control_plane.web.frame import Panel
from bbops_server.control_plane.web.outline_page import OutlineLinks
from bbops_server.control_plane.web.routes import form, page, require_permission
from bbops_server.control_plane.web.visit import Here, Visit
from bbops_server.process.messages.deliveries import ListDeliveries, ListReceivers

MAX_SHOWN: Final = 100
_NOTICES: Final = {
    "repeated": "The delivery runs again as a new job.", "enabled": "The receiver is enabled.",
}  # fmt: skip


@page("/projects/{name:str}/webhooks", Permission.READ_JOBS)
async def show_webhooks(
    visit: Here, name: FromPath[str],
    direction: Annotated[str, QueryParameter(max_length=20)] = "",
    done: Annotated[str, QueryParameter(max_length=20)] = "",
) -> Response[Any]:  # fmt: skip
    """Show deliveries, newest first, and the receivers."""
    project = VisitedProject.open_target(visit, name)
    wanted = direction if direction in get_args(Direction) else ""
    deliveries = (await project.ask(ListDeliveries, wanted, MAX_SHOWN)).deliveries
    receivers = (await project.ask(ListReceivers, MAX_SHOWN)).receivers
    return visit.page(
        "webhooks", project=name, deliveries=deliveries, receivers=receivers, direction=wanted,
        may_change=_may_change(visit, project, name), notice=_NOTICES.get(done, ""),
        target=project.draft, most=MAX_SHOWN,
    )  # fmt: skip


@page("/projects/{name:str}/webhooks/delivery", Permission.READ_JOBS)
async def show_delivery(
    visit: Here, name: FromPath[str],
    delivery: Annotated[str, QueryParameter(name="name", max_length=800)] = "",
) -> Response[Any]:  # fmt: skip
    """Show a delivery: its headers and body, and the attempts to send it."""
    project = VisitedProject.open_target(visit, name)
    story = await find_delivery(project, delivery)
    may_change = _may_change(visit, project, name)
    return visit.page(
        "delivery", project=name, story=story, delivery=story.delivery, may_change=may_change,
        target=project.draft,
    )  # fmt: skip


@form("/projects/{name:str}/webhooks/repeat", Permission.RUN_DRAFT_JOBS)
async def repeat_by_page(visit: Here, name: FromPath[str]) -> Response[Any]:
    """Replay a received delivery, or resend a sent one."""
    delivery = await visit.field("delivery")
    project = await _open_to_change(visit, name, delivery)
    await repeat(project, delivery)
    return visit.go(OutlineLinks(name, project.draft).to("webhooks", done="repeated"))


@form("/projects/{name:str}/webhooks/enable", Permission.RUN_DRAFT_JOBS)
async def enable_by_page(visit: Here, name: FromPath[str]) -> Response[Any]:
    """Enable a disabled receiver."""
    webhook, receiver = await visit.field("webhook"), await visit.field("receiver")
    project = await _open_to_change(visit, name, webhook, receiver)
    await enable(project, OneReceiver(webhook, receiver))
    return visit.go(OutlineLinks(name, project.draft).to("webhooks", done="enabled"))


async def _open_to_change(visit: Visit, name: str, *fields: str) -> VisitedProject:
    """Return the target of a change.

    Raises:
        ClientException: a field of the form is empty.
        PermissionDeniedException: the project is live, and the role does not suffice.
    """
    if not all(fields):
        raise ClientException("the form is incomplete; reload the page")
    project = VisitedProject.open_target(visit, name)
    if project.is_live:
        await require_permission(visit, Permission.MANAGE_JOBS, name)
    return project


def _may_change(visit: Visit, project: VisitedProject, name: str) -> bool:
    needed = Permission.MANAGE_JOBS if project.is_live else Permission.RUN_DRAFT_JOBS
    return visit.may(needed, name)


PANEL = Panel(
    "Run", 30, "Webhooks", "send", "/webhooks", Permission.READ_JOBS, in_drafts=True,
    actions=(("Send a webhook again", Permission.RUN_DRAFT_JOBS),),
)  # fmt: skip
ROUTES = (show_webhooks, show_delivery, repeat_by_page, enable_by_page)
