"""The page Account: profile, password, sessions, tokens and agents' grants."""

from __future__ import annotations

from typing import Any

from litestar import Response
from litestar.params import FromPath, FromQuery

from bbops.runtime.auth.passwords import hash_password
from bbops_server.accounts.people import Person
from bbops_server.accounts.rules import Permission, Scope
from bbops_server.accounts.text_rules import AccountError, check_password
from bbops_server.accounts.tokens import DEFAULT_DAYS
from bbops_server.control_plane.sign_in.pages import is_correct, take_attempt
from bbops_server.control_plane.web.routes import form, page
from bbops_server.control_plane.web.visit import Here, Visit, add_retry_after, too_many_attempts

_DAYS = (7, 30, DEFAULT_DAYS, 365)
_DONE = {
    "profile": "Your profile was saved.",
    "password": "Your password was changed, and all other sessions were signed out.",
    "session": "The session was signed out.",
    "sessions": "All other sessions were signed out.",
    "token": "The token was revoked.",
    "agent": "The agent no longer has access to your account.",
}


async def _show(visit: Visit, status: int = 200, **more: Any) -> Response[Any]:
    person, book = visit.caller.person, visit.book
    context = {
        "person": await visit.control.run(book.people.get, person),
        "sessions": await visit.control.run(book.sessions.list, person),
        "tokens": await visit.control.run(book.tokens.list, person),
        "grants": await visit.control.run(book.grants.list, person),
        "scopes": tuple(Scope), "days": _DAYS, "default_days": DEFAULT_DAYS, "made": "",
        "projects": [project.name for project in visit.control.status.projects()
                     if visit.may(Permission.READ_PROJECT, project.name)],
        "notice": "",
    }  # fmt: skip
    return visit.page("account", status, **context | more)


@page("/account", Permission.MANAGE_ONESELF)
async def show_account(visit: Here, done: FromQuery[str] = "") -> Response[Any]:
    """Show the account of the signed-in user."""
    return await _show(visit, notice=_DONE.get(done, ""))


@form("/account/profile", Permission.MANAGE_ONESELF)
async def save_profile(visit: Here) -> Response[Any]:
    """Change the user's name and company."""
    name, company = await visit.field("name"), await visit.field("company")
    try:
        await visit.control.run(visit.book.people.set_profile, visit.caller.person, name, company)
    except AccountError as error:
        return await _show(visit, 400, error=error)
    await visit.note("change profile")
    return visit.go("/account?done=profile")


@form("/account/password", Permission.MANAGE_ONESELF)
async def change_password(visit: Here) -> Response[Any]:
    """Change the password, sign out every session, and sign in this browser again."""
    wait = await take_attempt(visit, visit.caller.email)
    if wait:
        return add_retry_after(await _show(visit, 429, error=too_many_attempts(wait)), wait)
    old, new = await visit.field("old"), await visit.field("password")
    try:
        person = await _check_old(visit, old)
        check_password(new, person.email)
    except AccountError as error:
        await visit.note("change password", outcome="refused")
        return await _show(visit, 400, error=error)
    hashed = await hash_password(new, visit.control.rounds)
    await visit.control.run(visit.book.people.set_password, person.id, hashed)
    await visit.note("change password")
    return await visit.sign_in(person, "/account?done=password", "password")


async def _check_old(visit: Visit, old: str) -> Person:
    person, hashed = await visit.control.run(visit.book.people.get_hash, visit.caller.email)
    if person is None:
        raise AccountError("there is no such account")
    if person.has_password and not await is_correct(old, hashed):
        raise AccountError("the current password is wrong")
    return person


@form("/account/sessions/{key:str}/end", Permission.MANAGE_ONESELF)
async def end_session(visit: Here, key: FromPath[str]) -> Response[Any]:
    """Sign out one of the user's sessions."""
    await visit.control.run(visit.book.sessions.end, visit.caller.person, key)
    await visit.note("end session")
    return visit.go("/account?done=session")


@form("/account/sessions/end", Permission.MANAGE_ONESELF)
async def end_sessions(visit: Here) -> Response[Any]:
    """Sign out all other sessions of the user."""
    await visit.control.run(visit.book.sessions.end_all, visit.caller.person, but=visit.caller.key)
    await visit.note("end all other sessions")
    return visit.go("/account?done=sessions")


@form("/account/tokens", Permission.MANAGE_ONESELF)
async def make_token(visit: Here) -> Response[Any]:
    """Create a token and show it once."""
    name, days, project = [await visit.field(field) for field in ("name", "days", "project")]
    chosen = [Scope(scope) for scope in await visit.fields("scope") if scope in tuple(Scope)]
    try:
        key, token = await visit.control.run(
            visit.book.tokens.make, visit.caller.person, name, chosen, project=project,
            days=int(days) if days.isascii() and days.isdigit() and len(days) < 5 else 0,
        )  # fmt: skip
    except AccountError as error:
        return await _show(visit, 400, error=error)
    await visit.note("make token", object=f"{token.name} ({', '.join(token.scopes)})")
    return await _show(visit, 201, made=key)


@form("/account/tokens/{key:str}/revoke", Permission.MANAGE_ONESELF)
async def revoke_token(visit: Here, key: FromPath[str]) -> Response[Any]:
    """Revoke one of the user's tokens."""
    if await visit.control.run(visit.book.tokens.revoke, visit.caller.person, key):
        await visit.note("revoke token", object=key)
    return visit.go("/account?done=token")


@form("/account/grants/{key:str}/revoke", Permission.MANAGE_ONESELF)
async def revoke_grant(visit: Here, key: FromPath[str]) -> Response[Any]:
    """Revoke an agent's grant."""
    grant = await visit.control.run(visit.book.grants.revoke, visit.caller.person, key)
    if grant is not None:
        await visit.note("revoke grant", object=grant.client_name)
    return visit.go("/account?done=agent")


ROUTES = (
    show_account, save_profile, change_password, end_session, end_sessions, make_token,
    revoke_token, revoke_grant,
)  # fmt: skip
