"""Verification of signatures of received webhooks, over the raw body.

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
from bbops.runtime.work.signature_schemes import (
    ACCEPTED_STATUS,
    PARSERS,
    VENDOR_VERIFIERS,
    AcceptedDelivery,
    Headers,
    SignedRequest,
    ValidSignature,
    equals,
    parse_json,
    read_discord_key,
    read_key,
    read_map,
    read_sendgrid_key,
    read_sending_key,
    read_timestamp,
    sign,
)

Scheme = Literal[
    "hmac", "standard", "stripe", "github", "slack", "twilio", "hubspot", "discord", "sendgrid"
]

KEY_PAIRS: Final = frozenset[Scheme](("discord", "sendgrid"))
"""Schemes of services that sign with a private key."""

UNREADABLE: Final = "bbops.unreadable"
"""The payload field with the reason why a body could not be parsed."""

_MAX_NAME: Final = 200


@dataclass(frozen=True, slots=True)
class WebhookSignature:
    """The signature scheme and the secrets of a webhook.

    Attributes:
        secrets: the accepted secrets, several during a rotation; public keys for services with a
            key pair.
        header: the header of the signature, for `hmac`; other schemes define their header.
        tolerance_seconds: the largest accepted difference to the time of the signature.
    """

    scheme: Scheme
    secrets: Sequence[str]
    header: str = ""
    tolerance_seconds: float = 300.0

    def verify(self, headers: Headers, body: bytes, now: float, url: str = "") -> str:
        """Verify a request, and return the name of its delivery, equal in each retry; may be empty.

        Args:
            headers: headers by name in lower case.
            body: the raw body.
            now: the time in seconds since 1970.
            url: the URL that the service calls; headers do not contain it.

        Raises:
            Thrown: 401, the signature is missing, wrong, or too old.
            FlowError: a secret is not valid for the scheme.
        """
        request = SignedRequest(headers, body, self.secrets, self.header, url)
        try:
            signature = _VERIFIERS[self.scheme](request)
        except InvalidInput:  # a malformed form whose sender is not verified
            signature = None
        if signature is None:
            raise Thrown(401, "the signature is missing or wrong", code="signatureInvalid")
        if signature.at is not None and abs(now - signature.at) > self.tolerance_seconds:
            raise Thrown(401, "the signature is too old, or of the future", code="signatureLate")
        if not signature.name and self.scheme != "hmac":  # equal bodies are retries
            return sha256(body).hexdigest()
        return stored_name(signature.name)

    def parse(self, headers: Headers, body: bytes, url: str = "") -> AcceptedDelivery:
        """Parse a verified request. The arguments are those of `verify`.

        Every body is accepted. If it is not in the format of the service, the job fails with the
        reason.
        """
        request = SignedRequest(headers, body, self.secrets, self.header, url)
        try:
            return PARSERS.get(self.scheme, parse_json)(request)
        except InvalidInput as error:
            text = body.decode("utf-8", "backslashreplace").replace("\0", "\\x00")
            payload = msgspec.json.encode({UNREADABLE: error.message, "body": text}).decode()
            return AcceptedDelivery(payload, ACCEPTED_STATUS.get(self.scheme, 202))

    def is_in(self, header: str) -> bool:
        """Return whether a header is the configured header of the signature."""
        return header.lower() == self.header.lower()


def stored_name(name: str) -> str:
    """Return the stored name of a delivery: its hash if it is long or not printable."""
    if len(name) <= _MAX_NAME and name.isprintable():
        return name
    return sha256(name.encode("utf-8", "replace")).hexdigest()


def _verify_hmac(request: SignedRequest) -> ValidSignature | None:
    sent = request.text(request.header.lower()).strip().removeprefix("sha256=")
    for secret in request.secrets:
        digest = hmac.digest(secret.encode(), request.body, "sha256")
        if equals(sent.lower(), digest.hex()) or equals(sent, _base64(digest)):
            return ValidSignature(name=request.headers.get("webhook-id", ""))
    return None


def _verify_github(request: SignedRequest) -> ValidSignature | None:
    sent = request.text("x-hub-signature-256")
    if any(equals(sent, f"sha256={_hmac_hex(secret, request.body)}") for secret in request.secrets):
        return ValidSignature(name=request.headers.get("x-github-delivery", ""))
    return None


def _verify_stripe(request: SignedRequest) -> ValidSignature | None:
    parts = request.text("stripe-signature").split(",")
    pairs = [part.strip().partition("=") for part in parts]
    at = read_timestamp([text for name, _, text in pairs if name == "t"])
    if at is None:
        return None
    sent = [text for name, _, text in pairs if name == "v1"]
    signed = b"%d." % at + request.body
    expected = [_hmac_hex(secret, signed) for secret in request.secrets]
    if any(equals(signature, digest) for digest in expected for signature in sent):
        name = read_map(request.body).get("id")
        return ValidSignature(at, name if type(name) is str else "")
    return None


def _verify_standard(request: SignedRequest) -> ValidSignature | None:
    headers = request.headers
    name, at = headers.get("webhook-id", ""), read_timestamp([headers.get("webhook-timestamp", "")])
    if not name or at is None:
        return None
    sent = request.text("webhook-signature").split()
    keys = [_standard_key(secret) for secret in request.secrets]
    try:
        expected = [sign(key, name, at, request.body) for key in keys]
    except (ValueError, OverflowError):  # the time is out of range, or the body is not text
        return None
    return ValidSignature(at, name) if any(equals(a, b) for a in sent for b in expected) else None


_VERIFIERS: Final[Mapping[Scheme, Callable[[SignedRequest], ValidSignature | None]]] = {
    "hmac": _verify_hmac, "standard": _verify_standard, "stripe": _verify_stripe,
    "github": _verify_github, "slack": VENDOR_VERIFIERS["slack"],
    "twilio": VENDOR_VERIFIERS["twilio"], "hubspot": VENDOR_VERIFIERS["hubspot"],
    "discord": VENDOR_VERIFIERS["discord"], "sendgrid": VENDOR_VERIFIERS["sendgrid"],
}  # fmt: skip


def check_secret(scheme: Scheme | Literal["sent"], secret: str) -> None:
    """Check that a secret or public key can verify or sign a delivery.

    Args:
        scheme: the scheme of a trigger's signature; `sent` for outgoing webhooks.
        secret: the secret or public key.

    Raises:
        FlowError: the secret is not valid for the scheme. The message does not contain it.
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


def read_headers(pairs: Sequence[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return headers by name in lower case, without repeated headers."""
    values_by_name = dict[str, list[bytes]]()
    for name, value in pairs:
        values_by_name.setdefault(name.decode("latin-1").lower(), []).append(value)
    return dict(_unrepeated(values_by_name))


def _unrepeated(values_by_name: Mapping[str, Sequence[bytes]]) -> Iterator[tuple[str, str]]:
    for name, values in values_by_name.items():
        if len(values) == 1:
            yield name, values[0].decode("latin-1")
