"""Sign-ins that wait for the provider's redirect: kept for ten minutes, bound to one browser."""

from __future__ import annotations

import hashlib
from base64 import urlsafe_b64encode
from collections import OrderedDict
from dataclasses import dataclass
from hmac import compare_digest
from time import monotonic
from typing import Final

from bbops_server.accounts.keys import hash_key
from bbops_server.process.host.system import SystemRandom

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
