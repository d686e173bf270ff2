"""Pages to set up, sign up, sign in and sign out."""

from __future__ import annotations

from typing import Any

from litestar import Response
from litestar.params import FromQuery

from bbops.runtime.auth.passwords import hash_password, verify_password
from bbops_server.accounts.people import NewPerson
from bbops_server.accounts.rules import Permission, Role
from bbops_server.accounts.text_rules import MOST_PASSWORD, AccountError, check_password, fold_email
from bbops_server.control_plane.web.routes import form, page
from bbops_server.control_plane.web.visit import (
    Here,
    Visit,
    add_retry_after,
    local_path,
    too_many_attempts,
)

_DONE = {
    "out": "You are signed out.",
    "password": "Your password was changed; sign in with the new one.",
}


@page("/setup", Permission.BE_ANYBODY)
async def show_setup(visit: Here, token: FromQuery[str] = "") -> Response[Any]:
    """Show the form of the first account, if the link has the printed key."""
    if not await visit.control.is_setup_key(token):
        return _no_setup(visit)
    return visit.page("setup", token=token, email="", name="")


@form("/setup", Permission.BE_ANYBODY)
async def set_up(visit: Here) -> Response[Any]:
    """Create the first account, an owner; the link can be used once."""
    token, email, name = [await visit.field(field) for field in ("token", "email", "name")]
    if not await visit.control.is_setup_key(token):
        return _no_setup(visit)
    try:
        new = await _new_person(visit, is_verified=True, role=Role.OWNER)
        person = await visit.control.run(visit.book.people.add, new, only_first=True)
    except AccountError as error:
        return visit.page("setup", 400, error=error, token=token, email=email, name=name)
    await visit.control.is_set_up()  # stores it beside the database
    company = await visit.field("company")
    await visit.control.run(visit.book.workspaces.set_profile, "", company)
    await visit.note("set up", who=person.email)
    return await visit.sign_in(person, "/", "password")


def _no_setup(visit: Visit) -> Response[Any]:
    error = AccountError(
        "this set-up link has expired",
        hint="until there is an account, 'bbops serve' prints a new one at each start",
    )
    return visit.page("message", 403, title="Set up", error=error)


@page("/signup", Permission.BE_ANYBODY)
async def show_signup(
    visit: Here, invitation: FromQuery[str] = "", return_to: FromQuery[str] = "/"
) -> Response[Any]:
    """Show the form of a new account: by invitation, or open to everyone if configured."""
    if visit.caller.person and not invitation:
        return visit.go(local_path(return_to))
    return await _signup(visit, invitation, return_to)


async def _signup(
    visit: Visit, key: str, return_to: str, status: int = 200, **given: Any
) -> Response[Any]:
    invitation = await visit.control.run(visit.book.invitations.find, key) if key else None
    is_open = visit.control.settings.access.signup == "open" and not key
    if invitation is None and not is_open:
        return visit.page("invited", 403 if key else 200, return_to=local_path(return_to), key=key)
    context = {"email": invitation.email if invitation else "", "name": ""} | given
    back = local_path(return_to)
    return visit.page(
        "signup", status, invitation=key, invited=invitation, return_to=back, **context
    )


@form("/signup", Permission.BE_ANYBODY)
async def sign_up(visit: Here) -> Response[Any]:
    """Create an account and sign in."""
    key, back = await visit.field("invitation"), await visit.field("return_to")
    given = {name: await visit.field(name) for name in ("email", "name")}
    wait = visit.control.limits.signup.take(visit.network)
    if wait:
        return add_retry_after(
            await _signup(visit, key, back, 429, error=too_many_attempts(wait), **given), wait
        )
    if not key and visit.control.settings.access.signup != "open":
        return await _signup(visit, key, back)
    try:
        new = await _new_person(visit)
        if key:
            person = await visit.control.run(visit.book.invitations.accept, key, new)
        else:
            person = await visit.control.run(visit.book.people.add, new)
    except AccountError as error:
        return await _signup(visit, key, back, 400, error=error, **given)
    await visit.note("sign up", who=person.email, object="invitation" if key else "open")
    return await visit.sign_in(person, back, "password")


async def _new_person(visit: Visit, **more: Any) -> NewPerson:
    email, password = await visit.field("email"), await visit.field("password")
    check_password(password, email)
    name, company = await visit.field("name"), await visit.field("company")
    return NewPerson(
        email, name, company, await hash_password(password, visit.control.rounds), **more
    )


@page("/signin", Permission.BE_ANYBODY)
async def show_signin(
    visit: Here, return_to: FromQuery[str] = "/", done: FromQuery[str] = ""
) -> Response[Any]:
    """Show the form to sign in."""
    if visit.caller.person:
        return visit.go(local_path(return_to))
    return await _signin(visit, return_to, notice=_DONE.get(done, ""))


async def _signin(
    visit: Visit, return_to: str, status: int = 200, *, email: str = "", notice: str = "",
    error: AccountError | None = None,
) -> Response[Any]:  # fmt: skip
    return visit.page(
        "signin", status, email=email, notice=notice, error=error, return_to=local_path(return_to),
        is_open=visit.control.settings.access.signup == "open",
        is_set_up=await visit.control.is_set_up(),
    )  # fmt: skip


@form("/signin", Permission.BE_ANYBODY)
async def sign_in(visit: Here) -> Response[Any]:
    """Sign in by password. An unknown e-mail address takes as long as a wrong password."""
    email, password = await visit.field("email"), await visit.field("password")
    back = await visit.field("return_to")
    wait = await take_attempt(visit, email)
    if wait:
        await visit.note("sign in", object="password", outcome="too many attempts")
        answer = await _signin(visit, back, 429, email=email, error=too_many_attempts(wait))
        return add_retry_after(answer, wait)
    person, hashed = await visit.control.run(visit.book.people.get_hash, email)
    if not await is_correct(password, hashed) or person is None:
        who = person.email if person else ""
        await visit.note("sign in", object="password", outcome="refused", who=who)
        wrong = AccountError("the e-mail address or the password is wrong")
        return await _signin(visit, back, 401, email=email, error=wrong)
    visit.control.limits.account.forget(_key(visit, email))
    return await visit.sign_in(person, back, "password")


async def is_correct(password: str, hashed: str | None) -> bool:
    """Return whether the password matches its hash; without a hash it takes as long."""
    return len(password) <= MOST_PASSWORD and await verify_password(password, hashed)


async def take_attempt(visit: Visit, email: str) -> int:
    """Count an attempt at a password; return the seconds to wait, 0 if it is allowed.

    A browser with which the account has signed in before has its own limit, so that attempts from
    other networks cannot lock its owner out.
    """
    limits, cookie = visit.control.limits, visit.device_cookie
    device = await visit.control.run(visit.control.devices.find, cookie, email) if cookie else ""
    if device:
        return limits.account.take(f"device {device}")
    return (
        limits.address.take(visit.network)
        or limits.account.take(_key(visit, email))
        or limits.accounts.take(fold_email(email))
    )


def _key(visit: Visit, email: str) -> str:
    return f"{fold_email(email)} {visit.network}"


@form("/signout", Permission.BE_ANYBODY)
async def sign_out(visit: Here) -> Response[Any]:
    """End the session of this browser."""
    return await visit.sign_out()


ROUTES = (show_setup, set_up, show_signup, sign_up, show_signin, sign_in, sign_out)
