"""Webhooks of forges: their signatures, and the events that can bring new commits."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from typing import Protocol, cast

from bbops.base.registry import members
from bbops_server.settings.repositories import ForgeKind

Headers = Mapping[str, str]
"""Headers of a request, names in lower case."""


class HookProof(Protocol):
    """The proof that a request comes from the forge, checked while its body is read."""

    def update(self, part: bytes) -> None:
        """Take the next part of the body."""
        ...

    def matches(self) -> bool:
        """Return whether the proof fits the whole body. Takes constant time."""
        ...


class HookScheme(Protocol):
    """A forge's way to sign a webhook."""

    EVENTS: frozenset[str]
    """The events that can bring new commits, as the forge names them."""

    PULL_EVENTS: frozenset[str]
    """The events of these about pull requests."""

    def event_of(self, headers: Headers) -> str:
        """Return the event of a request; empty without one."""
        ...

    def proof_of(self, headers: Headers, secret: str) -> HookProof:
        """Return the proof in the headers of a request."""
        ...


class SignatureProof:
    """An HMAC-SHA256 of the raw body, in hex. The body itself is not kept."""

    def __init__(self, secret: str, signature: str) -> None:
        self._hash, self._signature = hmac.new(secret.encode(), digestmod=sha256), signature

    def update(self, part: bytes) -> None:
        """Take the next part of the body."""
        self._hash.update(part)

    def matches(self) -> bool:
        """Return whether the signature is the one of the body. Takes constant time."""
        expected, found = self._hash.hexdigest(), self._signature.lower()
        return hmac.compare_digest(expected.encode(), found.encode())


class TokenProof:
    """The secret itself in a header: it proves the sender, but not the body."""

    def __init__(self, secret: str, token: str) -> None:
        self._secret, self._token = secret, token

    def update(self, part: bytes) -> None:
        """Ignore the body."""

    def matches(self) -> bool:
        """Return whether the token is the secret. Takes constant time."""
        return hmac.compare_digest(self._secret.encode(), self._token.encode())


@cache
def find_schemes() -> dict[ForgeKind, HookScheme]:
    """Return the scheme of each kind of forge."""
    return {
        kind: cast("HookScheme", module)
        for _, module in members(__package__)
        for kind in getattr(module, "KINDS", ())
    }
