"""The page on which somebody types the code that an agent's device shows."""

from __future__ import annotations

from typing import Any

from litestar import Response
from litestar.params import FromQuery

from bbops_server.accounts.devices import Device
from bbops_server.accounts.errors import AccountError
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.agents.consent import describe_wish, show_wish
from bbops_server.control_plane.web.routes import form, page
from bbops_server.control_plane.web.visit import Here, Visit, come_again, too_many


@page("/oauth/device", Permission.MANAGE_ONESELF)
async def show_device(visit: Here, user_code: FromQuery[str] = "") -> Response[Any]:
    """Ask for a code, or show what the device of one asks for."""
    return await _show(visit, user_code)


@form("/oauth/device", Permission.MANAGE_ONESELF)
async def decide_device(visit: Here) -> Response[Any]:
    """Let the device in, or not."""
    code, decision = await visit.field("user_code"), await visit.field("decision")
    device = await visit.control.ask(visit.book.devices.find, code)
    if device is None or decision not in {"approve", "deny"} or not _may_see(visit, device):
        return await _show(visit, code)
    is_approved = decision == "approve"
    is_kept = await visit.control.ask(
        visit.book.devices.decide, device, visit.caller.person, approve=is_approved
    )
    if not is_kept:
        return await _show(visit, code)
    action = "give grant" if is_approved else "refuse grant"
    await visit.note(action, object=describe_wish(device.wish))
    return visit.page("approved", is_approved=is_approved, what="The agent")


async def _show(visit: Visit, code: str) -> Response[Any]:
    if not code:
        return visit.page("device", device=None, code="")
    limits = visit.control.limits
    wait = limits.user_codes.take(visit.caller.key) or limits.shown_codes.take(code.upper())
    if wait:
        answer = visit.page("device", 429, device=None, code=code, error=too_many(wait))
        return come_again(answer, wait)
    device = await visit.control.ask(visit.book.devices.find, code)
    if device is None:
        gone = AccountError("no device is waiting with this code", hint="start again on the device")
        return visit.page("device", 404, device=None, code=code, error=gone)
    if not _may_see(visit, device):
        foreign = AccountError("you have no access to the requested project")
        return visit.page("device", 403, device=None, code=code, error=foreign)
    return visit.page("device", device=device, code=code, **show_wish(device.wish))


def _may_see(visit: Visit, device: Device) -> bool:
    project = device.wish.project
    return not project or visit.may(Permission.READ_PROJECT, project)


ROUTES = (show_device, decide_device)
