"""The way to a provider and back: who is known signs in, others need to be invited."""

from __future__ import annotations

from typing import Annotated, Any

from litestar import Response
from litestar.exceptions import NotFoundException
from litestar.params import FromPath, FromQuery, QueryParameter
from litestar.response import Redirect

from bbops_server.accounts.errors import AccountError
from bbops_server.accounts.people import NewPerson, Person
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.external_sign_in.provider_http import Stranger
from bbops_server.control_plane.external_sign_in.providers import Elsewhere
from bbops_server.control_plane.web.routes import page
from bbops_server.control_plane.web.visit import Here, Visit, come_again, local_path, too_many


@page("/signin/with/{provider:str}", Permission.BE_ANYBODY)
async def go_elsewhere(
    visit: Here, provider: FromPath[str], return_to: FromQuery[str] = "/",
    invitation: FromQuery[str] = "",
) -> Response[Any]:  # fmt: skip
    """Send the browser to a provider."""
    there = _find(visit, provider)
    wait = visit.control.limits.address.take(visit.network)
    if wait:
        return come_again(_refuse(visit, too_many(wait), 429), wait)
    started = visit.control.beginnings.add(
        provider, visit.visit_key, local_path(return_to), invitation
    )
    address = await there.begin(started, _redirect_uri(visit, provider))
    return visit.keep(Redirect(address, status_code=303))


@page("/signin/with/{provider:str}/callback", Permission.BE_ANYBODY)
async def come_back(
    visit: Here, provider: FromPath[str], code: FromQuery[str] = "",
    given: Annotated[str, QueryParameter(name="state")] = "",
    issuer: Annotated[str | None, QueryParameter(name="iss")] = None,
) -> Response[Any]:  # fmt: skip
    """Take back whom a provider sends."""
    there = _find(visit, provider)
    started = visit.control.beginnings.take(provider, visit.visit_key, given)
    if started is None or not code or not there.is_from(issuer):
        return _refuse(visit, AccountError("this sign-in was not completed", hint="begin again"))
    try:
        stranger = await there.finish(started, code, _redirect_uri(visit, provider))
        person = await _welcome(visit, there, stranger, started.invitation)
    except AccountError as error:
        await visit.note("sign in", object=provider, outcome="refused")
        return _refuse(visit, error)
    return await visit.sign_in(person, started.return_to, provider)


async def _welcome(visit: Visit, there: Elsewhere, stranger: Stranger, invitation: str) -> Person:
    """Return whose account this is, or the new one of who may have one.

    Raises:
        AccountError: they have none, or are kept out.
    """
    people, identity = visit.book.people, (stranger.provider, stranger.subject)
    person = await visit.control.ask(people.find_identity, *identity)
    if person is None:
        person = await _join(visit, there, stranger)
    if person is not None:
        if person.disabled is not None:
            raise AccountError("this account is disabled")
        return person
    if not stranger.is_verified:
        raise AccountError(f"'{stranger.provider}' has not verified your e-mail address")
    new = NewPerson(stranger.email, stranger.name[:200], is_verified=True)
    if invitation:
        return await visit.control.ask(visit.book.invitations.accept, invitation, new, identity)
    if visit.control.settings.access.signup == "open":
        return await visit.control.ask(people.add, new, identity=identity)
    raise AccountError("you have no account here", hint="an owner of this server can invite you")


async def _join(visit: Visit, there: Elsewhere, stranger: Stranger) -> Person | None:
    """Let somebody with an account sign in there, too, where both know the address is theirs.

    Raises:
        AccountError: they have an account, and it may not be joined.
    """
    person = await visit.control.ask(visit.book.people.get, stranger.email or "@")
    if person is None:
        return None
    if not (there.provider.joins_by_email and stranger.is_verified and person.is_verified):
        raise AccountError(
            "an account with this e-mail address already exists",
            hint="sign in with the account's password",
        )
    identity = (person.id, stranger.provider, stranger.subject)
    await visit.control.ask(visit.book.people.add_identity, *identity)
    await visit.note("join identity", object=stranger.provider, who=person.email)
    return person


def _find(visit: Visit, name: str) -> Elsewhere:
    found = visit.control.elsewhere.find(visit.control.settings.access.providers, name)
    if found is None:
        raise NotFoundException(f"signing in with '{name}' is not configured")
    return found


def _redirect_uri(visit: Visit, provider: str) -> str:
    return visit.control.link(f"/signin/with/{provider}/callback")


def _refuse(visit: Visit, error: AccountError, status: int = 403) -> Response[Any]:
    return visit.page("message", status, title="Sign in", error=error)


ROUTES = (go_elsewhere, come_back)
