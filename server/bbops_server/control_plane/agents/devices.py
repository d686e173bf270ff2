"""The page on which a user enters the code that an agent's device shows."""

from __future__ import annotations

from typing import Any

from litestar import Response
from litestar.params import FromQuery

from bbops_server.accounts.logins import Device
from bbops_server.accounts.rules import Permission
from bbops_server.accounts.text_rules import AccountError
from bbops_server.control_plane.agents.consent import describe_grant, grant_context
from bbops_server.control_plane.web.routes import form, page
from bbops_server.control_plane.web.visit import Here, Visit, add_retry_after, too_many_attempts


@page("/oauth/device", Permission.MANAGE_ONESELF)
async def show_device(visit: Here, user_code: FromQuery[str] = "") -> Response[Any]:
    """Show a form for a code, or the request of the device with that code."""
    return await _show(visit, user_code)


@form("/oauth/device", Permission.MANAGE_ONESELF)
async def decide_device(visit: Here) -> Response[Any]:
    """Grant the device access, or deny it."""
    code, decision = await visit.field("user_code"), await visit.field("decision")
    device = await visit.control.run(visit.book.devices.find, code)
    if device is None or decision not in {"approve", "deny"} or not _may_see(visit, device):
        return await _show(visit, code)
    is_approved = decision == "approve"
    is_saved = await visit.control.run(
        visit.book.devices.decide, device, visit.caller.person, approve=is_approved
    )
    if not is_saved:
        return await _show(visit, code)
    action = "give grant" if is_approved else "refuse grant"
    await visit.note(action, object=describe_grant(device.wish))
    return visit.page("approved", is_approved=is_approved, what="The agent")


async def _show(visit: Visit, code: str) -> Response[Any]:
    if not code:
        return visit.page("device", device=None, code="")
    limits = visit.control.limits
    wait = limits.user_codes.take(visit.caller.key) or limits.shown_codes.take(code.upper())
    if wait:
        answer = visit.page("device", 429, device=None, code=code, error=too_many_attempts(wait))
        return add_retry_after(answer, wait)
    device = await visit.control.run(visit.book.devices.find, code)
    if device is None:
        gone = AccountError("no device is waiting with this code", hint="start again on the device")
        return visit.page("device", 404, device=None, code=code, error=gone)
    if not _may_see(visit, device):
        foreign = AccountError("you have no access to the requested project")
        return visit.page("device", 403, device=None, code=code, error=foreign)
    return visit.page("device", device=device, code=code, **grant_context(device.wish))


def _may_see(visit: Visit, device: Device) -> bool:
    project = device.wish.project
    return not project or visit.may(Permission.READ_PROJECT, project)


ROUTES = (show_device, decide_device)
