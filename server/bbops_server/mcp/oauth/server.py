"""The authorization server, as programs ask it: registration, tokens, devices, revocation."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from authlib.oauth2 import OAuth2Error
from authlib.oauth2.rfc6749.errors import (
    InvalidGrantError,
    InvalidRequestError,
    InvalidScopeError,
    UnauthorizedClientError,
)

from bbops_server.accounts.book import Book
from bbops_server.accounts.issuing import Replayed
from bbops_server.accounts.limits import Limit
from bbops_server.accounts.logins import INTERVAL_SECONDS, LASTS
from bbops_server.mcp.oauth.authlib_request import Answer, OAuthRequest, Sender
from bbops_server.mcp.oauth.client import Client, OddClient, describe, read_metadata
from bbops_server.mcp.oauth.consents import Consents
from bbops_server.mcp.oauth.core import Core
from bbops_server.mcp.oauth.endpoints import DEVICE_CODE, GRANT_TYPES, Endpoints
from bbops_server.settings import Settings


class _Limits:
    """How often clients may ask; memory of this process."""

    def __init__(self) -> None:
        self.register = Limit(20, 3_600)
        self._client, self._network = Limit(60, 60), Limit(600, 60)

    def take(self, client_id: str, network: str) -> int:
        """Count a request; return 0, or the seconds until the next attempt."""
        return self._network.take(network) or self._client.take(f"{network} {client_id[:64]}")


class OAuth:
    """The authorization server. All methods block, and return a response for every request."""

    def __init__(self, book: Book, settings: Callable[[], Settings]) -> None:
        """`settings` returns the current settings."""
        self._core, self._book = Core(book, settings), book
        self._limits = _Limits()
        self.consents = Consents(self._core)

    @property
    def endpoints(self) -> Endpoints:
        """The addresses of its parts."""
        return self._core.endpoints

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
            return _refuse(InvalidRequestError("the body is not valid JSON"))
        client_id = self._book.clients.register(msgspec.json.encode(metadata).decode())
        return Answer(201, describe(Client(client_id, metadata)))

    def give_tokens(self, form: str, sender: Sender) -> Answer:
        """Answer a client that has a code, a refresh token or a device's key."""
        try:
            return self._answer(self._give_tokens, form, sender)
        except Replayed as found:
            self._book.audit.add(
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

    def _answer(self, work: Callable[[OAuthRequest], Answer], form: str, sender: Sender) -> Answer:
        try:
            asked = OAuthRequest("POST", form, sender)
            wait = self._limits.take(asked.get("client_id"), sender.network)
            if wait:
                return _come_again(wait)
            asked.check_single()
            return work(asked)
        except OAuth2Error as error:
            return _refuse(error)

    def _give_tokens(self, asked: OAuthRequest) -> Answer:
        if asked.get("grant_type") not in GRANT_TYPES:
            raise OAuth2Error("unsupported grant_type", error="unsupported_grant_type")
        answer: Answer = self._core.create_token_response(asked)
        if answer.status == 200:
            self._book.clients.use(asked.client.id)
        return answer

    def _begin_device(self, asked: OAuthRequest) -> Answer:
        client: Client = self._core.authenticate_client(asked, ["none"], "device_authorization")
        if not client.check_grant_type(DEVICE_CODE):
            raise UnauthorizedClientError("this client is not registered for the device flow")
        scope = client.get_allowed_scope(asked.get("scope"))
        if scope is None:
            raise InvalidScopeError
        key, code = self._book.devices.begin(
            self._core.read_wish(asked, client, scope), asked.sender.address
        )
        page = f"{self.endpoints.issuer}/oauth/device"
        told = {
            "device_code": key, "user_code": code, "verification_uri": page,
            "verification_uri_complete": f"{page}?user_code={code}",
            "expires_in": int(LASTS.total_seconds()), "interval": INTERVAL_SECONDS,
        }  # fmt: skip
        return Answer(200, told)

    def _revoke(self, asked: OAuthRequest) -> Answer:
        client: Client = self._core.authenticate_client(asked, ["none"], "revocation")
        if not asked.get("token"):
            raise InvalidRequestError("token is missing")
        held = self._book.issuing.find_token(asked.get("token"))
        if held is not None and held.client == client.id:
            who = self._book.issuing.end(held)
            self._book.audit.add(
                "revoke grant", who=who, token=held.grant, object=client.name,
                address=asked.sender.address,
            )  # fmt: skip
        return Answer(200, {})


def _refuse(error: OAuth2Error) -> Answer:
    status, body, headers = error()
    return Answer(status, body, dict(headers))


def _come_again(seconds: int) -> Answer:
    said = f"too many requests; try again in {seconds} s"
    body = {"error": "temporarily_unavailable", "error_description": said}
    return Answer(429, body, {"Retry-After": str(seconds)})
