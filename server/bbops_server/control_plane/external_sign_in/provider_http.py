"""Requests to a sign-in provider, and the sign-ins that wait for its redirect."""

from __future__ import annotations

import hashlib
from base64 import b64encode, urlsafe_b64encode
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hmac import compare_digest
from time import monotonic
from typing import Any, Final
from urllib.parse import quote_plus, urlencode, urlsplit

import msgspec

from bbops.base.host import Follows, HttpRequest
from bbops.runtime.values.failures import HttpFailure
from bbops_server.accounts.keys import hash_key
from bbops_server.accounts.text_rules import AccountError
from bbops_server.process.host.egress import EgressPolicy
from bbops_server.process.host.http import MAX_BODY_BYTES, OutsideHttp
from bbops_server.process.host.system import SystemRandom

TIMEOUT_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class ExternalUser:
    """A user as the provider describes them; `subject` is the provider's permanent id."""

    provider: str
    subject: str
    email: str
    is_verified: bool
    name: str = ""


class ProviderHttp:
    """HTTP client for one provider; its host may be private, because an owner configured it."""

    def __init__(
        self, name: str, url: str, *, follows: Follows = "all", max_bytes: int = MAX_BODY_BYTES
    ) -> None:
        """Create a client for the host of `url`.

        Args:
            name: the provider in errors.
            url: the provider's address.
            follows: the redirects that are followed.
            max_bytes: the size of a response.
        """
        self.name, self._follows, self._max_bytes = name, follows, max_bytes
        self._client = OutsideHttp(EgressPolicy([urlsplit(url).hostname or ""]))

    async def get(self, url: str, token: str = "") -> Any:
        """Return the JSON at a URL.

        Raises:
            AccountError: the request failed; the message names the provider, but no secret.
        """
        headers = {"accept": "application/json"}
        if token:
            headers["authorization"] = f"Bearer {token}"
        return await self._send(HttpRequest("GET", url, headers, b"", TIMEOUT_SECONDS))

    async def post(
        self, url: str, form: Mapping[str, str], client: tuple[str, str] | None = None
    ) -> dict[str, Any]:
        """Post a form and return the JSON response; `client` is an id and secret."""
        headers = {
            "accept": "application/json", "content-type": "application/x-www-form-urlencoded",
        }  # fmt: skip
        if client is not None:
            pair = ":".join(map(quote_plus, client))  # RFC 6749 section 2.3.1
            headers["authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
        request = HttpRequest("POST", url, headers, urlencode(form).encode(), TIMEOUT_SECONDS)
        answer = await self._send(request)
        if not isinstance(answer, dict):
            raise self.invalid_response()
        return answer

    def invalid_response(self) -> AccountError:
        """Return the error for a response that violates the protocol."""
        return AccountError(f"'{self.name}' returned an invalid response")

    async def _send(self, request: HttpRequest) -> Any:
        limited = replace(request, follows=self._follows, most_bytes=self._max_bytes)
        try:
            answer = await self._client.send(limited)
            body = msgspec.json.decode(answer.body)
        except HttpFailure:
            raise AccountError(f"'{self.name}' cannot be reached", hint="try again") from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise self.invalid_response() from None
        if answer.status != 200:
            raise AccountError(f"'{self.name}' refused the sign-in", hint="try again")
        return body


# ---- Sign-ins that wait for the provider's redirect: kept for ten minutes, bound to one browser

LASTS_SECONDS: Final = 600.0
MAX_PENDING: Final = 10_000
_TOKEN_LENGTH: Final = 43
_random = SystemRandom()


@dataclass(frozen=True, slots=True)
class PendingSignIn:
    """A pending sign-in; `browser` is the hash of the cookie with which it began."""

    provider: str
    browser: str
    return_to: str
    invitation: str
    state: str
    nonce: str
    verifier: str
    at: float

    @property
    def challenge(self) -> str:
        """The hash of the verifier (RFC 7636, S256)."""
        digest = hashlib.sha256(self.verifier.encode()).digest()
        return urlsafe_b64encode(digest).rstrip(b"=").decode()


class PendingSignIns:
    """Pending sign-ins by their state; if there are too many, the oldest are dropped."""

    def __init__(self) -> None:
        self._pending: OrderedDict[str, PendingSignIn] = OrderedDict()

    def add(self, provider: str, cookie: str, return_to: str, invitation: str) -> PendingSignIn:
        """Start a sign-in."""
        state, nonce, verifier = (_random.token(_TOKEN_LENGTH) for _ in range(3))
        sign_in = PendingSignIn(
            provider, hash_key(cookie), return_to, invitation, state, nonce, verifier, monotonic()
        )
        self._pending[state] = sign_in
        if len(self._pending) > MAX_PENDING:
            self._pending.popitem(last=False)
        return sign_in

    def take(self, provider: str, cookie: str, state: str) -> PendingSignIn | None:
        """Remove and return the sign-in of a callback; None if it is unknown or expired."""
        sign_in = self._pending.pop(state, None)
        if sign_in is None or sign_in.provider != provider:
            return None
        if monotonic() - sign_in.at > LASTS_SECONDS:
            return None
        return sign_in if compare_digest(sign_in.browser, hash_key(cookie)) else None
