"""Sign-ins that are elsewhere now: remembered for ten minutes, each for one browser."""

from __future__ import annotations

import hashlib
from base64 import urlsafe_b64encode
from collections import OrderedDict
from dataclasses import dataclass
from hmac import compare_digest
from time import monotonic
from typing import Final

from bbops_server.accounts.keys import hash_key
from bbops_server.process.host.random import SystemRandom

LASTS_SECONDS: Final = 600.0
MOST: Final = 10_000
_LENGTH: Final = 43
_random = SystemRandom()


@dataclass(frozen=True, slots=True)
class Started:
    """One sign-in under way; `browser` is the hash of the cookie it began with."""

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


class Beginnings:
    """Remembers them by their state; the oldest make room."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Started] = OrderedDict()

    def add(self, provider: str, cookie: str, return_to: str, invitation: str) -> Started:
        """Begin one."""
        state, nonce, verifier = (_random.token(_LENGTH) for _ in range(3))
        one = Started(
            provider, hash_key(cookie), return_to, invitation, state, nonce, verifier, monotonic()
        )
        self._kept[state] = one
        if len(self._kept) > MOST:
            self._kept.popitem(last=False)
        return one

    def take(self, provider: str, cookie: str, state: str) -> Started | None:
        """Return the one that a browser comes back from, once."""
        found = self._kept.pop(state, None)
        if found is None or monotonic() - found.at > LASTS_SECONDS or found.provider != provider:
            return None
        return found if compare_digest(found.browser, hash_key(cookie)) else None
