"""Sign-in with an external provider: the redirect, and the callback that signs in or signs up."""

from __future__ import annotations

from typing import Annotated, Any

from litestar import Response
from litestar.exceptions import NotFoundException
from litestar.params import FromPath, FromQuery, QueryParameter
from litestar.response import Redirect

from bbops_server.accounts.people import NewPerson, Person
from bbops_server.accounts.rules import Permission
from bbops_server.accounts.text_rules import AccountError
from bbops_server.control_plane.external_sign_in.provider_http import ExternalUser
from bbops_server.control_plane.external_sign_in.providers import ExternalProvider
from bbops_server.control_plane.web.routes import page
from bbops_server.control_plane.web.visit import (
    Here,
    Visit,
    add_retry_after,
    local_path,
    too_many_attempts,
)


@page("/signin/with/{provider:str}", Permission.BE_ANYBODY)
async def start_external_sign_in(
    visit: Here, provider: FromPath[str], return_to: FromQuery[str] = "/",
    invitation: FromQuery[str] = "",
) -> Response[Any]:  # fmt: skip
    """Redirect the browser to a provider."""
    client = _find(visit, provider)
    wait = visit.control.limits.address.take(visit.network)
    if wait:
        return add_retry_after(_refuse(visit, too_many_attempts(wait), 429), wait)
    pending = visit.control.pending_sign_ins.add(
        provider, visit.visit_key, local_path(return_to), invitation
    )
    address = await client.begin(pending, _redirect_uri(visit, provider))
    return visit.keep(Redirect(address, status_code=303))


@page("/signin/with/{provider:str}/callback", Permission.BE_ANYBODY)
async def finish_external_sign_in(
    visit: Here, provider: FromPath[str], code: FromQuery[str] = "",
    state_key: Annotated[str, QueryParameter(name="state")] = "",
    issuer: Annotated[str | None, QueryParameter(name="iss")] = None,
) -> Response[Any]:  # fmt: skip
    """Sign in the user that a provider has authenticated."""
    client = _find(visit, provider)
    pending = visit.control.pending_sign_ins.take(provider, visit.visit_key, state_key)
    if pending is None or not code or not client.is_from(issuer):
        return _refuse(visit, AccountError("this sign-in was not completed", hint="begin again"))
    try:
        user = await client.finish(pending, code, _redirect_uri(visit, provider))
        person = await _find_account(visit, client, user, pending.invitation)
    except AccountError as error:
        await visit.note("sign in", object=provider, outcome="refused")
        return _refuse(visit, error)
    return await visit.sign_in(person, pending.return_to, provider)


async def _find_account(
    visit: Visit, client: ExternalProvider, user: ExternalUser, invitation: str
) -> Person:
    """Return the account of an external user, created if they may sign up.

    Raises:
        AccountError: they have no account and may not sign up, or the account is disabled.
    """
    people, identity = visit.book.people, (user.provider, user.subject)
    person = await visit.control.run(people.find_identity, *identity)
    if person is None:
        person = await _link_account(visit, client, user)
    if person is not None:
        if person.disabled is not None:
            raise AccountError("this account is disabled")
        return person
    if not user.is_verified:
        raise AccountError(f"'{user.provider}' has not verified your e-mail address")
    new = NewPerson(user.email, user.name[:200], is_verified=True)
    if invitation:
        return await visit.control.run(visit.book.invitations.accept, invitation, new, identity)
    if visit.control.settings.access.signup == "open":
        return await visit.control.run(people.add, new, identity=identity)
    raise AccountError("you have no account here", hint="an owner of this server can invite you")


async def _link_account(
    visit: Visit, client: ExternalProvider, user: ExternalUser
) -> Person | None:
    """Link the provider to an existing account, if both have verified the e-mail address.

    Raises:
        AccountError: the account may not be linked.
    """
    person = await visit.control.run(visit.book.people.get, user.email or "@")
    if person is None:
        return None
    if not (client.provider.joins_by_email and user.is_verified and person.is_verified):
        raise AccountError(
            "an account with this e-mail address already exists",
            hint="sign in with the account's password",
        )
    identity = (person.id, user.provider, user.subject)
    await visit.control.run(visit.book.people.add_identity, *identity)
    await visit.note("join identity", object=user.provider, who=person.email)
    return person


def _find(visit: Visit, name: str) -> ExternalProvider:
    client = visit.control.providers.find(visit.control.settings.access.providers, name)
    if client is None:
        raise NotFoundException(f"signing in with '{name}' is not configured")
    return client


def _redirect_uri(visit: Visit, provider: str) -> str:
    return visit.control.link(f"/signin/with/{provider}/callback")


def _refuse(visit: Visit, error: AccountError, status: int = 403) -> Response[Any]:
    return visit.page("message", status, title="Sign in", error=error)


ROUTES = (start_external_sign_in, finish_external_sign_in)
