"""Sign-in of the command line: it shows a code, which a signed-in user approves in a browser."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from urllib.parse import quote

import msgspec
from litestar import Response
from litestar.exceptions import HTTPException
from litestar.params import Body, FromQuery

from bbops_server.accounts.logins import LASTS_SECONDS, Login
from bbops_server.accounts.rules import Permission, Scope
from bbops_server.accounts.text_rules import AccountError, tidy_text
from bbops_server.control_plane.web.routes import change, form, page
from bbops_server.control_plane.web.visit import Here, Visit, add_retry_after, too_many_attempts

POLL_SECONDS = 2


class LoginRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The scopes that another machine requests; `client` is the name that it gives itself."""

    client: str = ""
    scopes: tuple[Scope, ...] = (Scope.DEPLOY,)


class LoginCode(msgspec.Struct, frozen=True):
    """`url` to open in a browser, `code` to compare, and the secret `device` to poll with."""

    device: str
    code: str
    url: str
    expires_seconds: int = LASTS_SECONDS
    interval_seconds: int = POLL_SECONDS


class LoginPoll(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The secret of a started login."""

    device: str


class LoginResult(msgspec.Struct, frozen=True):
    """The state of a login; the token is returned once."""

    status: Literal["pending", "approved", "denied", "expired"]
    token: str = ""
    email: str = ""


class TokenRevocation(msgspec.Struct, frozen=True):
    """Whether a token was revoked."""

    revoked: bool


@change("/api/login", Permission.BE_ANYBODY, status=201)
async def begin_login(visit: Here, data: Annotated[LoginRequest, Body()]) -> LoginCode:
    """Start a sign-in of another machine, which a user approves in a browser."""
    wait = visit.control.limits.signup.take(visit.network)
    if wait:
        headers = {"retry-after": str(wait)}
        raise HTTPException(too_many_attempts(wait).message, status_code=429, headers=headers)
    client = tidy_text(data.client, "name of the client")
    scopes = tuple(sorted(set(data.scopes), key=list(Scope).index)) or (Scope.READ,)
    key, login = visit.control.logins.begin(client, visit.address, scopes)
    path = quote(f"/approve?code={login.code}", safe="")
    return LoginCode(key, login.code, visit.control.link(f"/signup?return_to={path}"))


@change("/api/login/poll", Permission.BE_ANYBODY, status=200)
async def poll_login(visit: Here, data: Annotated[LoginPoll, Body()]) -> LoginResult:
    """The state of a login, with its token once it is approved."""
    login = visit.control.logins.take(data.device)
    if login is None:
        return LoginResult("expired")
    if login.outcome != "approved":
        return LoginResult(login.outcome)
    name = f"bbops login on {login.client or login.address}"
    token, made = await visit.control.run(
        visit.book.tokens.make, login.person, name[:200], login.scopes
    )
    scopes = ", ".join(made.scopes)
    await visit.note("make token", object=f"{made.name} ({scopes})", who=login.email)
    return LoginResult("approved", token, login.email)


@change("/api/logout", Permission.KNOW_ONESELF, status=200)
async def revoke_own_token(visit: Here) -> TokenRevocation:
    """Revoke the token of this request."""
    caller = visit.caller
    if caller.how != "token":
        return TokenRevocation(revoked=False)
    await visit.note("revoke token", object=caller.key)
    is_revoked = await visit.control.run(visit.book.tokens.revoke, caller.person, caller.key)
    return TokenRevocation(is_revoked)


@page("/approve", Permission.MANAGE_ONESELF)
async def show_approval(visit: Here, code: FromQuery[str] = "") -> Response[Any]:
    """Show the login request of another machine."""
    return await _show(visit, code)


@form("/approve", Permission.MANAGE_ONESELF)
async def approve(visit: Here) -> Response[Any]:
    """Approve or deny a login."""
    code, decision = await visit.field("code"), await visit.field("decision")
    login = visit.control.logins.find(code)
    if login is None or decision not in {"approve", "deny"}:
        return await _show(visit, code)
    caller = visit.caller
    is_approved = decision == "approve"
    visit.control.logins.decide(
        login, person=caller.person, email=caller.email, approve=is_approved
    )
    await visit.note(f"{decision} login", object=login.client or login.address)
    return visit.page("approved", is_approved=is_approved, what="The terminal")


async def _show(visit: Visit, code: str) -> Response[Any]:
    wait = visit.control.limits.codes.take(visit.caller.person)
    if wait:
        answer = visit.page("approve", 429, login=None, code=code, error=too_many_attempts(wait))
        return add_retry_after(answer, wait)
    login: Login | None = visit.control.logins.find(code) if code else None
    gone = AccountError(
        "no sign-in is waiting with this code", hint="start again with 'bbops login'"
    )
    is_gone = bool(code) and login is None
    return visit.page(
        "approve", 404 if is_gone else 200, login=login, code=code, error=gone if is_gone else None
    )


ROUTES = (begin_login, poll_login, revoke_own_token, show_approval, approve)
