"""The page People: members, their roles, and invitations."""

from __future__ import annotations

from typing import Any

from litestar import Response
from litestar.exceptions import NotFoundException
from litestar.params import FromPath, FromQuery

from bbops_server.accounts.people import Person
from bbops_server.accounts.rules import Permission, Role
from bbops_server.accounts.text_rules import AccountError
from bbops_server.control_plane.web.routes import form, page
from bbops_server.control_plane.web.visit import Here, Visit

_DONE = {
    "role": "The role was changed.", "withdrawn": "The invitation was withdrawn.",
    "disabled": "The account was changed.",
}  # fmt: skip


async def _show(visit: Visit, status: int = 200, **more: Any) -> Response[Any]:
    book = visit.book
    roles = await visit.control.run(book.members.roles_of_all)
    people = await visit.control.run(book.people.list)
    context = {
        "people": [(person, *roles.get(person.id, (None, {}))) for person in people],
        "invitations": await visit.control.run(book.invitations.list),
        "roles": tuple(Role), "projects": [each.name for each in visit.control.status.projects()],
        "link": "", "notice": "",
    }  # fmt: skip
    return visit.page("people", status, **context | more)


@page("/people", Permission.READ_PEOPLE)
async def show_people(visit: Here, done: FromQuery[str] = "") -> Response[Any]:
    """Show members and invitations."""
    return await _show(visit, notice=_DONE.get(done, ""))


@form("/people/invite", Permission.MANAGE_PEOPLE)
async def invite(visit: Here) -> Response[Any]:
    """Invite a user; the link is shown once, and the inviting user sends it."""
    email, project = await visit.field("email"), await visit.field("project")
    try:
        role = _read_role(await visit.field("role"))
        key, invitation = await visit.control.run(
            visit.book.invitations.make, email, role or Role.VIEWER,
            invited_by=visit.caller.email, project=project,
        )  # fmt: skip
    except AccountError as error:
        return await _show(visit, 400, error=error)
    text = f"{invitation.email} as {invitation.role} {invitation.project}".strip()
    await visit.note("invite", object=text)
    return await _show(visit, 201, link=visit.control.link(f"/signup?invitation={key}"))


@form("/people/invitations/{key:str}/withdraw", Permission.MANAGE_PEOPLE)
async def withdraw(visit: Here, key: FromPath[str]) -> Response[Any]:
    """Withdraw an invitation."""
    if await visit.control.run(visit.book.invitations.withdraw, key):
        await visit.note("withdraw invitation", object=key)
    return visit.go("/people?done=withdrawn")


@form("/people/{key:str}/role", Permission.MANAGE_PEOPLE)
async def change_role(visit: Here, key: FromPath[str]) -> Response[Any]:
    """Set or remove a user's role in the workspace or in one project."""
    person, project = await _find(visit, key), await visit.field("project")
    try:
        role = _read_role(await visit.field("role"))
        await visit.control.run(visit.book.members.set_role, person.id, role, project)
    except AccountError as error:
        return await _show(visit, 400, error=error)
    where = f" in {project}" if project else ""
    await visit.note("change role", object=f"{person.email}: {role or 'none'}{where}")
    return visit.go("/people?done=role")


@form("/people/{key:str}/disable", Permission.MANAGE_PEOPLE)
async def disable(visit: Here, key: FromPath[str]) -> Response[Any]:
    """Disable or enable an account."""
    person, disabled = await _find(visit, key), await visit.field("disabled") == "yes"
    try:
        await visit.control.run(visit.book.people.disable, person.id, disabled=disabled)
    except AccountError as error:
        return await _show(visit, 400, error=error)
    await visit.note("disable" if disabled else "enable", object=person.email)
    return visit.go("/people?done=disabled")


async def _find(visit: Visit, key: str) -> Person:
    person = await visit.control.run(visit.book.people.get, key)
    if person is None:
        raise NotFoundException("there is no such user")
    return person


def _read_role(text: str) -> Role | None:
    if text in {"", "none"}:
        return None
    if text not in tuple(Role):
        raise AccountError(f"there is no role '{text}'", hint=f"choose one of {', '.join(Role)}")
    return Role(text)


ROUTES = (show_people, invite, withdraw, change_role, disable)
