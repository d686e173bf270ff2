"""Whether what another service sends is signed by it: over the raw body, as it says it does.

Sources: https://github.com/standard-webhooks/standard-webhooks, https://docs.stripe.com/webhooks,
https://docs.github.com/webhooks. All comparisons take constant time.
"""

from __future__ import annotations

import base64
import hmac
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final, Literal

import msgspec

from bbops.runtime.values.failures import FlowError, Thrown
from bbops.runtime.work.standard import read_key, sign

Scheme = Literal["hmac", "standard", "stripe", "github"]
Headers = Mapping[str, str]

MOST_HEADER: Final = 2_000
"""Characters of a header that is looked at."""
_MOST_ID: Final = 200


@dataclass(frozen=True, slots=True)
class Signature:
    """How a service signs.

    Attributes:
        header: where the signature is, for `hmac`; the others have headers of their own.
        secrets: any of them is good, while one takes the place of another.
        tolerance_seconds: how far its clock may be from ours, where it says when it signed.
    """

    scheme: Scheme
    secrets: Sequence[str]
    header: str = ""
    tolerance_seconds: float = 300.0

    def verify(self, headers: Headers, body: bytes, now: float) -> str:
        """Return what names this delivery: one that comes again has the same.

        Args:
            headers: by their names in lower case.
            body: as it came.
            now: in seconds since 1970.

        Raises:
            Thrown: 401, it is not signed by the service, or too long ago.
            FlowError: a secret is not what the scheme wants.
        """
        found = _READ[self.scheme](self, headers, body)
        if found is None:
            raise Thrown(401, "the signature is missing or wrong", code="signatureInvalid")
        if found.at is not None and abs(now - found.at) > self.tolerance_seconds:
            raise Thrown(401, "the signature is too old, or of the future", code="signatureLate")
        name = found.name or sha256(body).hexdigest()
        return name if len(name) <= _MOST_ID else sha256(name.encode()).hexdigest()

    def is_in(self, header: str) -> bool:
        """Return whether a header of the author's choice holds the signature."""
        return header.lower() == self.header.lower()


@dataclass(frozen=True, slots=True)
class _Found:
    """A good signature: when it was made, and what the service calls the delivery."""

    at: int | None = None
    name: str = ""


def _read_hmac(of: Signature, headers: Headers, body: bytes) -> _Found | None:
    given = headers.get(of.header.lower(), "")[:MOST_HEADER].strip().removeprefix("sha256=")
    for secret in of.secrets:
        digest = hmac.digest(secret.encode(), body, "sha256")
        if _is_one(given.lower(), digest.hex()) or _is_one(given, _base64(digest)):
            return _Found(name=headers.get("webhook-id", ""))
    return None


def _read_github(of: Signature, headers: Headers, body: bytes) -> _Found | None:
    given = headers.get("x-hub-signature-256", "")[:MOST_HEADER]
    if any(_is_one(given, f"sha256={_hex(secret, body)}") for secret in of.secrets):
        return _Found(name=headers.get("x-github-delivery", ""))
    return None


def _read_stripe(of: Signature, headers: Headers, body: bytes) -> _Found | None:
    parts = headers.get("stripe-signature", "")[:MOST_HEADER].split(",")
    pairs = [part.strip().partition("=") for part in parts]
    at = _moment([text for name, _, text in pairs if name == "t"])
    if at is None:
        return None
    given = [text for name, _, text in pairs if name == "v1"]
    signed = b"%d." % at + body
    if any(_is_one(one, _hex(secret, signed)) for secret in of.secrets for one in given):
        return _Found(at, _id_in(body))
    return None


def _read_standard(of: Signature, headers: Headers, body: bytes) -> _Found | None:
    name, at = headers.get("webhook-id", ""), _moment([headers.get("webhook-timestamp", "")])
    if not name or at is None:
        return None
    given = headers.get("webhook-signature", "")[:MOST_HEADER].split()
    keys = [_key(secret) for secret in of.secrets]
    try:
        rights = [sign(key, name, at, body) for key in keys]
    except (ValueError, OverflowError):  # a time far away, or a body that is no text
        return None
    return _Found(at, name) if any(_is_one(a, b) for a in given for b in rights) else None


_READ: Final[Mapping[Scheme, Callable[[Signature, Headers, bytes], _Found | None]]] = {
    "hmac": _read_hmac, "standard": _read_standard, "stripe": _read_stripe, "github": _read_github,
}  # fmt: skip


def _is_one(given: str, right: str) -> bool:
    return hmac.compare_digest(given.encode(), right.encode())


def _hex(secret: str, data: bytes) -> str:
    return hmac.digest(secret.encode(), data, "sha256").hex()


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _key(secret: str) -> bytes:
    try:
        return read_key(secret)
    except ValueError:
        raise FlowError(
            "the secret of the webhook is not base64, with or without 'whsec_' before it"
        ) from None


def _moment(texts: Sequence[str]) -> int | None:
    """Return a time in seconds, written as a number and once."""
    text = texts[0] if len(texts) == 1 else ""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 12 else None


def _id_in(body: bytes) -> str:
    try:
        data: Any = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
    found = data.get("id") if type(data) is dict else None
    return found if type(found) is str else ""


def read_headers(given: Sequence[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return headers by their names; one that came twice is not among them."""
    counted = dict[str, list[bytes]]()
    for name, value in given:
        counted.setdefault(name.decode("latin-1").lower(), []).append(value)
    return dict(_single(counted))


def _single(counted: Mapping[str, Sequence[bytes]]) -> Iterator[tuple[str, str]]:
    for name, values in counted.items():
        if len(values) == 1:
            yield name, values[0].decode("latin-1")
