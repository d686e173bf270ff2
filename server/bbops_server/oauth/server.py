"""The authorization server: who may ask for what, and what is answered. Blocks; no page of it.

Authlib reads and checks the requests; the book keeps what comes of them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

import msgspec
from authlib.oauth2 import AuthorizationServer, OAuth2Error
from authlib.oauth2.rfc6749.errors import (
    InvalidGrantError,
    InvalidRequestError,
    InvalidScopeError,
    UnauthorizedClientError,
)

from bbops_server.accounts.book import Book
from bbops_server.accounts.devices import INTERVAL_SECONDS, LASTS
from bbops_server.accounts.grants import Approval
from bbops_server.accounts.issuing import Replayed
from bbops_server.accounts.limits import Limit
from bbops_server.accounts.rules import GrantScope, complete
from bbops_server.host.http import Egress
from bbops_server.oauth import granting
from bbops_server.oauth.asked import Answer, Asked, Sender
from bbops_server.oauth.client import Client, Metadata, OddClient, describe, read_metadata
from bbops_server.oauth.documents import LASTS as DOCUMENT_LASTS
from bbops_server.oauth.documents import is_document, read_document
from bbops_server.oauth.endpoints import DEVICE_CODE, GRANT_TYPES, Endpoints
from bbops_server.oauth.granting import InvalidTarget
from bbops_server.settings import Settings


class Unsafe(Exception):
    """A request that is answered by a page: where it asks to be sent is not known to be right."""


class SentBack(Exception):
    """A request that is refused, and its client told so."""

    def __init__(self, answer: Answer) -> None:
        super().__init__()
        self.answer = answer


@dataclass(frozen=True, slots=True)
class Consent:
    """What a client asks somebody for in a browser.

    Attributes:
        wish: what they would agree to.
        redirect_uri: where the answer goes, with the client's `state`.
    """

    wish: Approval
    redirect_uri: str
    state: str
    challenge: str


class _Limits:
    """How often clients may ask; memory of this process."""

    def __init__(self) -> None:
        self.register = Limit(20, 3_600)
        self._client, self._network = Limit(60, 60), Limit(600, 60)

    def take(self, client_id: str, network: str) -> int:
        """Count a request; return 0, or after how many seconds to come again."""
        return self._network.take(network) or self._client.take(f"{network} {client_id}")


class OAuth(AuthorizationServer):
    """One server's."""

    def __init__(self, book: Book, settings: Callable[[], Settings]) -> None:
        """Args: `settings`: those in force; asked for each time."""
        super().__init__()
        self._limits = _Limits()
        logging.getLogger("authlib").setLevel(logging.INFO)  # below, it writes whole tokens
        self.book, self._settings = book, settings
        self.register_token_generator("default", granting.make_answer)
        for grant, extensions in granting.ALL:
            self.register_grant(grant, extensions)

    @property
    def endpoints(self) -> Endpoints:
        """Where its parts are."""
        return Endpoints(self._settings().control_url)

    # ---- clients
    async def learn(self, client_id: str) -> None:
        """Read the document that a client's id may be the address of, once an hour.

        Raises:
            OddClient: it cannot be read, or is none of a client.
        """
        settings, clients = self._settings(), self.book.clients
        if not is_document(client_id):
            return
        if not settings.reads_clients:
            raise OddClient("this server reads no documents of clients; they register")
        known = await asyncio.to_thread(clients.find, client_id)
        if known is not None and clients.is_fresh(known, DOCUMENT_LASTS):
            return
        found = await read_document(client_id, Egress(settings.egress))
        told = msgspec.json.encode(found).decode()
        await asyncio.to_thread(clients.keep_document, client_id, told)

    def query_client(self, client_id: str) -> Client | None:
        """Return a client by its id."""
        found = self.book.clients.find(client_id)
        if found is None:
            return None
        return Client(client_id, msgspec.json.decode(found.metadata, type=Metadata))

    def register(self, body: bytes, sender: Sender) -> Answer:
        """Answer a client that registers (RFC 7591)."""
        wait = self._limits.register.take(sender.network)
        if wait:
            return _come_again(wait)
        try:
            metadata = read_metadata(msgspec.json.decode(body))
        except OddClient as error:
            return Answer(400, {"error": error.error, "error_description": error.description})
        except (msgspec.DecodeError, RecursionError):
            return _refuse(InvalidRequestError("the body is no JSON"))
        client_id = self.book.clients.register(msgspec.json.encode(metadata).decode())
        return Answer(201, describe(Client(client_id, metadata)))

    # ---- in a browser
    def examine(self, query: str) -> Consent:
        """Return what a client asks somebody for, by what it sent their browser with.

        Raises:
            Unsafe: it is not known who asks, or where the answer would go.
            SentBack: it asks for what is not given.
        """
        try:
            asked = Asked("GET", query, Sender())
        except OAuth2Error as error:
            raise Unsafe(error.description) from None
        client, redirect_uri = self.query_client(asked.get("client_id")), asked.get("redirect_uri")
        if client is None:
            raise Unsafe("the program that asks for access is not known here")
        if not client.check_redirect_uri(redirect_uri):
            raise Unsafe("the program asks to be answered at an address that it has not registered")
        try:
            wish = self._examine(asked, client)
        except OAuth2Error as error:
            raise SentBack(self._send_back(redirect_uri, asked.get("state"), error)) from None
        return Consent(wish, redirect_uri, asked.get("state"), asked.get("code_challenge"))

    def approve(self, consent: Consent, person: str) -> Answer:
        """Keep that somebody agrees, and send their browser back with a code."""
        code = self.book.issuing.approve(
            person, consent.wish, consent.redirect_uri, consent.challenge
        )
        return self._redirect(consent.redirect_uri, {"code": code, "state": consent.state})

    def deny(self, consent: Consent) -> Answer:
        """Send somebody's browser back without a code."""
        denied = OAuth2Error("the person has refused", error="access_denied")
        return self._send_back(consent.redirect_uri, consent.state, denied)

    # ---- between programs
    def give_tokens(self, form: str, sender: Sender) -> Answer:
        """Answer a client that has a code, a refresh token or a device's key."""
        try:
            return self._answer(self._give_tokens, form, sender)
        except Replayed as found:
            self.book.audit.add(
                "find a replay", who=found.email, token=found.grant, address=sender.address,
                object=f"{found.what} of {found.client}", outcome="grant revoked",
            )  # fmt: skip
            return _refuse(InvalidGrantError())

    def begin_device(self, form: str, sender: Sender) -> Answer:
        """Answer a device that asks for a code to show (RFC 8628)."""
        return self._answer(self._begin_device, form, sender)

    def revoke(self, form: str, sender: Sender) -> Answer:
        """End the grant of a token that a client needs no more (RFC 7009)."""
        return self._answer(self._revoke, form, sender)

    def _answer(self, work: Callable[[Asked], Answer], form: str, sender: Sender) -> Answer:
        try:
            asked = Asked("POST", form, sender)
            wait = self._limits.take(asked.get("client_id"), sender.network)
            if wait:
                return _come_again(wait)
            asked.check_single()
            return work(asked)
        except OAuth2Error as error:
            return _refuse(error)

    def _give_tokens(self, asked: Asked) -> Answer:
        if asked.get("grant_type") not in GRANT_TYPES:
            raise OAuth2Error("this grant_type is not known", error="unsupported_grant_type")
        answer: Answer = self.create_token_response(asked)
        if answer.status == 200:
            self.book.clients.use(asked.client.id)
        return answer

    def _begin_device(self, asked: Asked) -> Answer:
        client: Client = self.authenticate_client(asked, ["none"], "device_authorization")
        if not client.check_grant_type(DEVICE_CODE):
            raise UnauthorizedClientError("this client is not registered for devices")
        scope = client.get_allowed_scope(asked.get("scope"))
        if scope is None:
            raise InvalidScopeError
        key, code = self.book.devices.begin(self._wish(asked, client, scope), asked.sender.address)
        page = f"{self.endpoints.issuer}/oauth/device"
        told = {
            "device_code": key, "user_code": code, "verification_uri": page,
            "verification_uri_complete": f"{page}?user_code={code}",
            "expires_in": int(LASTS.total_seconds()), "interval": INTERVAL_SECONDS,
        }  # fmt: skip
        return Answer(200, told)

    def _revoke(self, asked: Asked) -> Answer:
        client: Client = self.authenticate_client(asked, ["none"], "revocation")
        if not asked.get("token"):
            raise InvalidRequestError("token is missing")
        held = self.book.issuing.find_token(asked.get("token"))
        if held is not None and held.client == client.id:
            who = self.book.issuing.end(held)
            self.book.audit.add(
                "revoke grant", who=who, token=held.grant, object=client.name,
                address=asked.sender.address,
            )  # fmt: skip
        return Answer(200, {})

    # ---- what Authlib asks for
    def create_oauth2_request(self, request: Asked) -> Asked:
        """Return a request as it is."""
        return request

    def handle_response(self, status: int, body: Any, headers: Any) -> Answer:
        """Return what Authlib answers."""
        return Answer(status, body, dict(headers))

    def send_signal(self, *_: Any, **__: Any) -> None:
        """Tell nobody."""

    # ---- pieces
    def _examine(self, asked: Asked, client: Client) -> Approval:
        asked.check_single()
        if asked.get("response_type") != "code":
            raise OAuth2Error("response_type must be code", error="unsupported_response_type")
        self.get_consent_grant(asked)
        return self._wish(asked, client, asked.scope)

    def _wish(self, asked: Asked, client: Client, scope: str) -> Approval:
        resource, project = self._find_resource(asked)
        scopes = complete(map(GrantScope, scope.split()))
        return Approval(client.id, client.name, scopes, resource, project)

    def _find_resource(self, asked: Asked) -> tuple[str, str]:
        """Return the address that tokens are wanted for, and its project.

        Raises:
            InvalidTarget: it is none of ours.
        """
        ours = self.endpoints.mcp
        named = {one.rstrip("/") for one in asked.payload.datalist["resource"]} or {ours}
        resource = named.pop()
        if named:
            raise InvalidTarget("tokens are for one resource at a time")
        if resource == ours:
            return resource, ""
        key = resource.removeprefix(f"{ours}/p/")
        project = self.book.addresses.project(key) if key != resource else None
        if project is None:
            raise InvalidTarget("this resource is none of this server")
        return resource, project

    def _send_back(self, redirect_uri: str, state: str, error: OAuth2Error) -> Answer:
        told = {"error": error.error, "error_description": error.description or "", "state": state}
        return self._redirect(redirect_uri, told)

    def _redirect(self, redirect_uri: str, told: Mapping[str, str]) -> Answer:
        """Return the way back; it says who answers, so that no other can seem to (RFC 9207)."""
        given = {name: value for name, value in told.items() if value}
        query = urlencode(given | {"iss": self.endpoints.issuer})
        parts = urlsplit(redirect_uri)
        joined = f"{parts.query}&{query}" if parts.query else query
        return Answer(303, "", {"Location": parts._replace(query=joined).geturl()})


def _refuse(error: OAuth2Error) -> Answer:
    status, body, headers = error()
    return Answer(status, body, dict(headers))


def _come_again(seconds: int) -> Answer:
    said = f"too many requests; try again in {seconds} s"
    body = {"error": "temporarily_unavailable", "error_description": said}
    return Answer(429, body, {"Retry-After": str(seconds)})
