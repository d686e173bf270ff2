"""The page on which somebody lets an agent in, or does not.

What is agreed to is what was shown: the form carries the whole request under a seal of this
session, so that no part of it can be changed on the way.
"""

from __future__ import annotations

import hmac
from typing import Any, Final
from urllib.parse import urlsplit

from litestar import Response

from bbops_server.accounts.errors import AccountError
from bbops_server.accounts.grants import Approval
from bbops_server.accounts.rules import GrantScope, Permission
from bbops_server.control_plane.agents.oauth import send
from bbops_server.control_plane.web.guard import POLICY
from bbops_server.control_plane.web.routes import form, page
from bbops_server.control_plane.web.visit import Here, Visit, come_again, signin_path, too_many
from bbops_server.mcp.oauth.client import OddClient
from bbops_server.mcp.oauth.consents import Consent, SentBack, Unsafe
from bbops_server.mcp.oauth.redirects import is_here, place_of

WORDS: Final = {
    GrantScope.PROJECT: "read projects, their drafts, proposals and history",
    GrantScope.DATA: "read the requests that people made, what came of them, and jobs",
    GrantScope.BUILDER: "write drafts, propose changes, retry jobs; merge where agents may",
    GrantScope.API: "call the endpoints of projects",
    GrantScope.AI: "use the agents of projects",
}
"""What each scope lets an agent do, for people."""

_ANYWHERE: Final = POLICY.replace("form-action 'self'; ", "")
"""Browsers hold `form-action` against the redirect that answers a form, which leads elsewhere."""


@page("/oauth/authorize", Permission.BE_ANYBODY)
async def show_consent(visit: Here) -> Response[Any]:
    """Show who asks for what."""
    if not visit.caller.person:
        return await _ask_in(visit)
    wait = visit.control.limits.consents.take(visit.caller.person)
    if wait:
        return come_again(_cannot(visit, too_many(wait), 429), wait)
    query = visit.request.url.query
    try:
        consent = await _examine(visit, query)
    except Unsafe as unsafe:
        return _cannot(visit, AccountError(str(unsafe)))
    except SentBack as refused:
        return send(refused.answer)
    if not _may_see(visit, consent.wish):
        return _cannot(visit, _NOT_YOURS, 403)
    return _show(visit, consent, query)


@form("/oauth/authorize", Permission.MANAGE_ONESELF)
async def decide(visit: Here) -> Response[Any]:
    """Let the agent in, or not."""
    query, decision = await visit.field("asked"), await visit.field("decision")
    given = (await visit.field("seal")).encode(errors="replace")
    if not hmac.compare_digest(given, visit.seal(query).encode()):
        return _cannot(visit, AccountError("this form has expired", hint="begin again"), 403)
    try:
        consent = await visit.control.ask(visit.control.oauth.consents.examine, query)
    except Unsafe as unsafe:
        return _cannot(visit, AccountError(str(unsafe)))
    except SentBack as refused:
        return send(refused.answer)
    if not _may_see(visit, consent.wish):
        return _cannot(visit, _NOT_YOURS, 403)
    if decision != "approve":
        await visit.note("refuse grant", object=describe_wish(consent.wish))
        return send(visit.control.oauth.consents.deny(consent))
    answer = await visit.control.ask(
        visit.control.oauth.consents.approve, consent, visit.caller.person
    )
    await visit.note("give grant", object=describe_wish(consent.wish))
    return send(answer)


_NOT_YOURS: Final = AccountError(
    "you have no access to the requested project",
    hint="an owner of this server can give you a role",
)


def describe_wish(wish: Approval) -> str:
    """Return what the log says of what an agent asks for."""
    scopes = ", ".join(one for one in GrantScope if one in wish.scopes)
    return f"{wish.client_name} ({scopes}) of {wish.project or 'all projects'}"


def show_wish(wish: Approval) -> dict[str, Any]:
    """Return what a page says of what an agent asks for."""
    is_published = wish.client.startswith("https://")
    return {
        "wish": wish, "words": [WORDS[one] for one in GrantScope if one in wish.scopes],
        "publisher": urlsplit(wish.client).netloc if is_published else "",
    }  # fmt: skip


async def _examine(visit: Visit, query: str) -> Consent:
    client_id = visit.request.query_params.get("client_id", "")
    try:
        await visit.control.oauth.consents.learn(client_id)
    except OddClient as odd:
        raise Unsafe(odd.description) from None
    return await visit.control.ask(visit.control.oauth.consents.examine, query)


def _may_see(visit: Visit, wish: Approval) -> bool:
    return not wish.project or visit.may(Permission.READ_PROJECT, wish.project)


def _show(visit: Visit, consent: Consent, query: str) -> Response[Any]:
    answer = visit.page(
        "consent", asked=query, seal=visit.seal(query), is_here=is_here(consent.redirect_uri),
        place=place_of(consent.redirect_uri), **show_wish(consent.wish),
    )  # fmt: skip
    answer.headers["content-security-policy"] = _ANYWHERE
    return answer


async def _ask_in(visit: Visit) -> Response[Any]:
    if await visit.control.is_set_up():
        return visit.go(signin_path(visit.request))
    return _cannot(visit, AccountError(
        "this server has no accounts yet, and an agent needs one to act for",
        hint="open the set-up link printed when the server started",
    ), 403)  # fmt: skip


def _cannot(visit: Visit, error: AccountError, status: int = 400) -> Response[Any]:
    return visit.page("message", status, title="Access was not granted", error=error)


ROUTES = (show_consent, decide)
