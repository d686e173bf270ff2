"""Consents: requests of clients that a user approves or denies in the browser."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode, urlsplit

import msgspec
from authlib.oauth2 import OAuth2Error

from bbops_server.accounts.grants import Approval
from bbops_server.mcp.oauth.authlib_request import Answer, OAuthRequest, Sender
from bbops_server.mcp.oauth.client import LASTS, Client, OddClient, is_document, read_document
from bbops_server.mcp.oauth.core import Core
from bbops_server.process.host.egress import EgressPolicy


class Unsafe(Exception):
    """A request is answered by a page, because its redirect URI is not verified."""


class SentBack(Exception):
    """A request is refused with a redirect to its client."""

    def __init__(self, answer: Answer) -> None:
        super().__init__()
        self.answer = answer


@dataclass(frozen=True, slots=True)
class Consent:
    """A request of a client that waits for the user's decision.

    Attributes:
        wish: the requested access.
        redirect_uri: the address of the response, with the client's `state`.
    """

    wish: Approval
    redirect_uri: str
    state: str
    challenge: str


class Consents:
    """Answers requests of browsers. All methods block, except `learn`."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def learn(self, client_id: str) -> None:
        """Read the metadata document of a client whose id is an address, at most once an hour.

        Raises:
            OddClient: it cannot be read, or is not valid.
        """
        settings, clients = self._core.settings, self._core.book.clients
        if not is_document(client_id):
            return
        if not settings.reads_clients:
            raise OddClient(
                "this server does not support client metadata documents; clients must register"
            )
        known = await asyncio.to_thread(clients.find, client_id)
        if known is not None and clients.is_fresh(known, LASTS):
            return
        found = await read_document(client_id, EgressPolicy(settings.egress))
        text = msgspec.json.encode(found).decode()
        await asyncio.to_thread(clients.keep_document, client_id, text)

    def examine(self, query: str) -> Consent:
        """Return the request in a query.

        Raises:
            Unsafe: the client or the redirect URI is not registered.
            SentBack: the request is not valid.
        """
        try:
            asked = OAuthRequest("GET", query, Sender())
        except OAuth2Error as error:
            raise Unsafe(error.description) from None
        client = self._core.query_client(asked.get("client_id"))
        redirect_uri = asked.get("redirect_uri")
        if client is None:
            raise Unsafe("the client is not registered here")
        if not client.check_redirect_uri(redirect_uri):
            raise Unsafe("the redirect URI is not registered for this client")
        try:
            wish = self._examine(asked, client)
        except OAuth2Error as error:
            raise SentBack(self._send_back(redirect_uri, asked.get("state"), error)) from None
        return Consent(wish, redirect_uri, asked.get("state"), asked.get("code_challenge"))

    def approve(self, consent: Consent, person: str) -> Answer:
        """Store the approval of a user, and return the redirect with a code."""
        code = self._core.book.issuing.approve(
            person, consent.wish, consent.redirect_uri, consent.challenge
        )
        return self._redirect(consent.redirect_uri, {"code": code, "state": consent.state})

    def deny(self, consent: Consent) -> Answer:
        """Return the redirect without a code."""
        denied = OAuth2Error("the user denied access", error="access_denied")
        return self._send_back(consent.redirect_uri, consent.state, denied)

    def _examine(self, asked: OAuthRequest, client: Client) -> Approval:
        asked.check_single()
        if asked.get("response_type") != "code":
            raise OAuth2Error("response_type must be code", error="unsupported_response_type")
        self._core.get_consent_grant(asked)
        return self._core.read_wish(asked, client, asked.scope)

    def _send_back(self, redirect_uri: str, state: str, error: OAuth2Error) -> Answer:
        fields = {
            "error": error.error, "error_description": error.description or "", "state": state,
        }  # fmt: skip
        return self._redirect(redirect_uri, fields)

    def _redirect(self, redirect_uri: str, fields: Mapping[str, str]) -> Answer:
        """Return the redirect, with the issuer, which clients verify (RFC 9207)."""
        given = {name: value for name, value in fields.items() if value}
        query = urlencode(given | {"iss": self._core.endpoints.issuer})
        parts = urlsplit(redirect_uri)
        joined = f"{parts.query}&{query}" if parts.query else query
        return Answer(303, "", {"Location": parts._replace(query=joined).geturl()})
