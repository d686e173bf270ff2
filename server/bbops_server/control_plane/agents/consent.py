"""The consent page, on which a user grants or denies an agent access.

The form carries the whole authorization request, sealed with the session's key: the user consents
to exactly the request that was shown.
"""

from __future__ import annotations

import hmac
from typing import Any, Final
from urllib.parse import urlsplit

from litestar import Response

from bbops_server.accounts.grants import Approval
from bbops_server.accounts.rules import GrantScope, Permission
from bbops_server.accounts.text_rules import AccountError
from bbops_server.control_plane.agents.oauth import send
from bbops_server.control_plane.web.guard import POLICY
from bbops_server.control_plane.web.routes import form, page
from bbops_server.control_plane.web.visit import (
    Here,
    Visit,
    add_retry_after,
    sign_in_path,
    too_many_attempts,
)
from bbops_server.mcp.oauth.client import OddClient, is_here, place_of
from bbops_server.mcp.oauth.consents import Consent, SentBack, Unsafe

SCOPE_TEXTS: Final = {
    GrantScope.PROJECT: "read projects, their drafts, proposals and history",
    GrantScope.DATA: "read the requests that people made, what came of them, and jobs",
    GrantScope.BUILDER: "write drafts, propose changes, retry jobs; merge where agents may",
    GrantScope.API: "call the endpoints of projects",
    GrantScope.AI: "use the agents of projects",
}
"""A description of each scope for the consent page."""

_ANY_FORM_ACTION: Final = POLICY.replace("form-action 'self'; ", "")
"""A policy without `form-action`: browsers apply it to the redirect that answers a form, too."""


@page("/oauth/authorize", Permission.BE_ANYBODY)
async def show_consent(visit: Here) -> Response[Any]:
    """Show the agent, its redirect address and the requested scopes."""
    if not visit.caller.person:
        return await _ask_to_sign_in(visit)
    wait = visit.control.limits.consents.take(visit.caller.person)
    if wait:
        return add_retry_after(_deny(visit, too_many_attempts(wait), 429), wait)
    query = visit.request.url.query
    try:
        consent = await _examine(visit, query)
    except Unsafe as unsafe:
        return _deny(visit, AccountError(str(unsafe)))
    except SentBack as refused:
        return send(refused.answer)
    if not _may_see(visit, consent.wish):
        return _deny(visit, _NO_ACCESS, 403)
    return _show(visit, consent, query)


@form("/oauth/authorize", Permission.MANAGE_ONESELF)
async def decide(visit: Here) -> Response[Any]:
    """Grant the agent access, or deny it."""
    query, decision = await visit.field("query"), await visit.field("decision")
    given = (await visit.field("seal")).encode(errors="replace")
    if not hmac.compare_digest(given, visit.seal(query).encode()):
        return _deny(visit, AccountError("this form has expired", hint="begin again"), 403)
    try:
        consent = await visit.control.run(visit.control.oauth.consents.examine, query)
    except Unsafe as unsafe:
        return _deny(visit, AccountError(str(unsafe)))
    except SentBack as refused:
        return send(refused.answer)
    if not _may_see(visit, consent.wish):
        return _deny(visit, _NO_ACCESS, 403)
    if decision != "approve":
        await visit.note("refuse grant", object=describe_grant(consent.wish))
        return send(visit.control.oauth.consents.deny(consent))
    answer = await visit.control.run(
        visit.control.oauth.consents.approve, consent, visit.caller.person
    )
    await visit.note("give grant", object=describe_grant(consent.wish))
    return send(answer)


_NO_ACCESS: Final = AccountError(
    "you have no access to the requested project",
    hint="an owner of this server can give you a role",
)


def describe_grant(grant: Approval) -> str:
    """Return a requested grant for the audit log: the client, its scopes and the project."""
    scopes = ", ".join(scope for scope in GrantScope if scope in grant.scopes)
    return f"{grant.client_name} ({scopes}) of {grant.project or 'all projects'}"


def grant_context(grant: Approval) -> dict[str, Any]:
    """Return the context of the template `grant.html`, which shows a requested grant."""
    is_published = grant.client.startswith("https://")
    return {
        "grant": grant,
        "scopes": [SCOPE_TEXTS[scope] for scope in GrantScope if scope in grant.scopes],
        "publisher": urlsplit(grant.client).netloc if is_published else "",
    }  # fmt: skip


async def _examine(visit: Visit, query: str) -> Consent:
    client_id = visit.request.query_params.get("client_id", "")
    try:
        await visit.control.oauth.consents.learn(client_id)
    except OddClient as odd:
        raise Unsafe(odd.description) from None
    return await visit.control.run(visit.control.oauth.consents.examine, query)


def _may_see(visit: Visit, grant: Approval) -> bool:
    return not grant.project or visit.may(Permission.READ_PROJECT, grant.project)


def _show(visit: Visit, consent: Consent, query: str) -> Response[Any]:
    answer = visit.page(
        "consent", query=query, seal=visit.seal(query), is_here=is_here(consent.redirect_uri),
        place=place_of(consent.redirect_uri), **grant_context(consent.wish),
    )  # fmt: skip
    answer.headers["content-security-policy"] = _ANY_FORM_ACTION
    return answer


async def _ask_to_sign_in(visit: Visit) -> Response[Any]:
    if await visit.control.is_set_up():
        return visit.go(sign_in_path(visit.request))
    return _deny(visit, AccountError(
        "this server has no accounts yet, and an agent needs one to act for",
        hint="open the set-up link printed when the server started",
    ), 403)  # fmt: skip


def _deny(visit: Visit, error: AccountError, status: int = 400) -> Response[Any]:
    return visit.page("message", status, title="Access was not granted", error=error)


ROUTES = (show_consent, decide)
