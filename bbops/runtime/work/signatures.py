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
from typing import Final, Literal

import msgspec

from bbops.runtime.values.failures import FlowError, InvalidInput, Thrown
from bbops.runtime.work.signature_schemes import VENDOR_VERIFIERS as VENDORS
from bbops.runtime.work.signature_schemes import (
    PARSERS,
    ACCEPTED_STATUS,
    ValidSignature,
    SignedRequest,
    Headers,
    AcceptedDelivery,
    equals,
    read_discord_key,
    read_key,
    read_map,
    read_timestamp,
    read_sendgrid_key,
    read_sending_key,
    sign,
    parse_json,
)

Scheme = Literal[
    "hmac", "standard", "stripe", "github", "slack", "twilio", "hubspot", "discord", "sendgrid"
]

KEY_PAIRS: Final = frozenset[Scheme](("discord", "sendgrid"))
"""Schemes of services that sign with a private key."""

UNREADABLE: Final = "bbops.unreadable"
"""In the payload of a delivery whose body is not what its service sends: the reason."""

_MAX_NAME: Final = 200


@dataclass(frozen=True, slots=True)
class WebhookSignature:
    """How a service signs.

    Attributes:
        header: where the signature is, for `hmac`; the others have headers of their own.
        secrets: any of them is good, while one takes the place of another; of a service with a key
            pair, its public keys.
        tolerance_seconds: how far its clock may be from ours, where it says when it signed.
    """

    scheme: Scheme
    secrets: Sequence[str]
    header: str = ""
    tolerance_seconds: float = 300.0

    def verify(self, headers: Headers, body: bytes, now: float, url: str = "") -> str:
        """Return the name of this delivery, the same whenever it is sent; empty for none.

        Args:
            headers: by their names in lower case.
            body: as it came.
            now: in seconds since 1970.
            url: where it came to, as its sender knows it: no header says that.

        Raises:
            Thrown: 401, it is not signed by the service, or too long ago.
            FlowError: a secret is not what the scheme wants.
        """
        given = self._given(headers, body, url)
        try:
            found = _VERIFIERS[self.scheme](given)
        except InvalidInput:  # a form that cannot be read, before anybody knows who sends it
            found = None
        if found is None:
            raise Thrown(401, "the signature is missing or wrong", code="signatureInvalid")
        if found.at is not None and abs(now - found.at) > self.tolerance_seconds:
            raise Thrown(401, "the signature is too old, or of the future", code="signatureLate")
        if not found.name and self.scheme != "hmac":  # bodies of services name what they tell of
            return sha256(body).hexdigest()
        return stored_name(found.name)

    def take(self, headers: Headers, body: bytes, url: str = "") -> AcceptedDelivery:
        """Return what becomes of a delivery that is signed; arguments as those of `verify`.

        Every body is kept. If it is not in the format of this service, the job fails with the
        reason.
        """
        try:
            return PARSERS.get(self.scheme, parse_json)(self._given(headers, body, url))
        except InvalidInput as error:
            text = body.decode("utf-8", "backslashreplace").replace("\0", "\\x00")
            payload = msgspec.json.encode({UNREADABLE: error.message, "body": text}).decode()
            return AcceptedDelivery(payload, ACCEPTED_STATUS.get(self.scheme, 202))

    def _given(self, headers: Headers, body: bytes, url: str) -> SignedRequest:
        return SignedRequest(headers, body, self.secrets, self.header, url)

    def is_in(self, header: str) -> bool:
        """Return whether a header of the author's choice holds the signature."""
        return header.lower() == self.header.lower()


def stored_name(name: str) -> str:
    """Return the name of a delivery as databases take it: its hash if it is long or odd."""
    if len(name) <= _MAX_NAME and name.isprintable():
        return name
    return sha256(name.encode("utf-8", "replace")).hexdigest()


def _verify_hmac(given: SignedRequest) -> ValidSignature | None:
    sent = given.text(given.header.lower()).strip().removeprefix("sha256=")
    for secret in given.secrets:
        digest = hmac.digest(secret.encode(), given.body, "sha256")
        if equals(sent.lower(), digest.hex()) or equals(sent, _base64(digest)):
            return ValidSignature(name=given.headers.get("webhook-id", ""))
    return None


def _verify_github(given: SignedRequest) -> ValidSignature | None:
    sent = given.text("x-hub-signature-256")
    if any(equals(sent, f"sha256={_hmac_hex(secret, given.body)}") for secret in given.secrets):
        return ValidSignature(name=given.headers.get("x-github-delivery", ""))
    return None


def _verify_stripe(given: SignedRequest) -> ValidSignature | None:
    parts = given.text("stripe-signature").split(",")
    pairs = [part.strip().partition("=") for part in parts]
    at = read_timestamp([text for name, _, text in pairs if name == "t"])
    if at is None:
        return None
    sent = [text for name, _, text in pairs if name == "v1"]
    signed = b"%d." % at + given.body
    if any(equals(one, _hmac_hex(secret, signed)) for secret in given.secrets for one in sent):
        name = read_map(given.body).get("id")
        return ValidSignature(at, name if type(name) is str else "")
    return None


def _verify_standard(given: SignedRequest) -> ValidSignature | None:
    headers = given.headers
    name, at = headers.get("webhook-id", ""), read_timestamp([headers.get("webhook-timestamp", "")])
    if not name or at is None:
        return None
    sent = given.text("webhook-signature").split()
    keys = [_standard_key(secret) for secret in given.secrets]
    try:
        rights = [sign(key, name, at, given.body) for key in keys]
    except (ValueError, OverflowError):  # a time far away, or a body that is no text
        return None
    return ValidSignature(at, name) if any(equals(a, b) for a in sent for b in rights) else None


_VERIFIERS: Final[Mapping[Scheme, Callable[[SignedRequest], ValidSignature | None]]] = {
    "hmac": _verify_hmac, "standard": _verify_standard, "stripe": _verify_stripe, "github": _verify_github,
    "slack": VENDORS["slack"], "twilio": VENDORS["twilio"], "hubspot": VENDORS["hubspot"],
    "discord": VENDORS["discord"], "sendgrid": VENDORS["sendgrid"],
}  # fmt: skip


def check_secret(scheme: Scheme | Literal["sent"], secret: str) -> None:
    """Refuse a secret, or a public key, that no delivery can be verified or signed with.

    Args:
        scheme: of a trigger's signature; `sent` for messages that the project sends.

    Raises:
        FlowError: it is not what the scheme uses; the message does not contain it.
    """
    match scheme:
        case "standard":
            _standard_key(secret)
        case "sent":
            try:
                read_sending_key(secret)
            except ValueError as error:
                raise FlowError(str(error)) from None
        case "discord":
            read_discord_key(secret)
        case "sendgrid":
            read_sendgrid_key(secret)


def _hmac_hex(secret: str, data: bytes) -> str:
    return hmac.digest(secret.encode(), data, "sha256").hex()


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _standard_key(secret: str) -> bytes:
    try:
        return read_key(secret)
    except ValueError:
        raise FlowError(
            "the secret of the webhook is not base64, with or without 'whsec_' before it"
        ) from None


def read_headers(given: Sequence[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return headers by their names; one that came twice is not among them."""
    counted = dict[str, list[bytes]]()
    for name, value in given:
        counted.setdefault(name.decode("latin-1").lower(), []).append(value)
    return dict(_unrepeated(counted))


def _unrepeated(counted: Mapping[str, Sequence[bytes]]) -> Iterator[tuple[str, str]]:
    for name, values in counted.items():
        if len(values) == 1:
            yield name, values[0].decode("latin-1")
