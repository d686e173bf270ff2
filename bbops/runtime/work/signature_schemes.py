"""Signature schemes of webhooks: Standard Webhooks, and the schemes of vendors."""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import parse_qs, parse_qsl, urlsplit

import msgspec
from standardwebhooks.webhooks import Webhook

from bbops.base.host import HttpRequest
from bbops.runtime.values.failures import NOTHING, FlowError, InvalidInput
from bbops.runtime.values.formats import name_json_fault

Headers = Mapping[str, str]

RESPONSE_SECONDS: Final = 15.0
"""The time for the response of a receiver."""

KEPT_BYTES: Final = 1_024
"""The part of a receiver's response that is read."""

MAX_HEADER: Final = 2_000
"""The most characters of a header that are compared."""


@dataclass(frozen=True, slots=True)
class SignedRequest:
    """A webhook request, with the secrets that may have signed it.

    Attributes:
        headers: headers by name in lower case, without repeated headers.
        secrets: the accepted secrets, several during a rotation; public keys for services with a
            key pair.
        header: the header of the signature, for `hmac`.
        url: the project's public URL and path, with the query of the request.
    """

    headers: Headers
    body: bytes
    secrets: Sequence[str]
    header: str
    url: str

    def text(self, name: str) -> str:
        """Return a header, cut to MAX_HEADER characters; empty if it is missing."""
        return self.headers.get(name, "")[:MAX_HEADER]


@dataclass(frozen=True, slots=True)
class ValidSignature:
    """A verified signature: its time, and the service's name of the delivery."""

    at: float | None = None
    name: str = ""


@dataclass(frozen=True, slots=True)
class AcceptedDelivery:
    """An accepted delivery: its payload as JSON, and the response to the service.

    Attributes:
        is_handshake: the service checks the URL; no function runs.
    """

    payload: str
    status: int
    value: Any = NOTHING
    is_handshake: bool = False


def equals(sent: str, expected: str) -> bool:
    """Return whether two texts are equal, in constant time."""
    return hmac.compare_digest(sent.encode("utf-8", "replace"), expected.encode())


def read_timestamp(texts: Sequence[str], *, longest: int = 12) -> int | None:
    """Return the timestamp of a header that occurs once and is a whole number, else None."""
    text = texts[0] if len(texts) == 1 else ""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= longest else None


def read_map(body: bytes) -> dict[str, Any]:
    """Return the JSON object of a body; empty for other bodies."""
    value = read_json(body)
    return value if type(value) is dict else {}


def read_json(body: bytes) -> Any:
    """Return the JSON value of a body; None for other bodies."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


MIN_KEY_BYTES: Final = 24
"""The shortest key of an outgoing webhook. Source: the Standard Webhooks specification."""

_PREFIX: Final = "whsec_"


def read_key(secret: str) -> bytes:
    """Decode a secret: base64, with or without the prefix `whsec_`.

    Raises:
        ValueError: the secret is empty or not base64.
    """
    try:
        key = base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not key:
        raise ValueError("the secret is not base64, with or without 'whsec_' before it")
    return key


def read_sending_key(secret: str) -> bytes:
    """Decode a receiver's secret. Raises: ValueError: it is not base64, or too short."""
    try:
        key = read_key(secret)
    except ValueError:
        key = b""
    if len(key) < MIN_KEY_BYTES:
        raise ValueError(f"the receiver's secret is not base64 of {MIN_KEY_BYTES} bytes or more")
    return key


def sign(key: bytes, name: str, at: int, body: bytes) -> str:
    """Return the signature of a message, such as `v1,g0hM9Ss…`. About 25 µs.

    Args:
        key: the key from `read_key`.
        name: the `webhook-id`.
        at: the `webhook-timestamp`, in seconds since 1970.
        body: the raw body.

    Raises:
        ValueError: the body is not UTF-8, or the time is out of range.
    """
    return Webhook(key).sign(name, datetime.fromtimestamp(at, UTC), body.decode())


def signed_request(
    url: str, key: bytes, name: str, at: int, body: bytes, *, is_from_row: bool = False
) -> HttpRequest:
    """Return the request of an outgoing message; a redirect must not take it to another URL.

    Args:
        url: the receiver's URL.
        key, name, at, body: as for `sign`.
        is_from_row: the URL stands in a row of the project.

    Raises:
        ValueError: as `sign`.
    """
    headers = {
        "content-type": "application/json", "accept-encoding": "identity", "webhook-id": name,
        "webhook-timestamp": str(at), "webhook-signature": sign(key, name, at, body),
    }  # fmt: skip
    return HttpRequest(
        "POST", url, headers, body, RESPONSE_SECONDS, follows="none", keeps_bytes=KEPT_BYTES,
        is_from_row=is_from_row,
    )  # fmt: skip


if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

VendorScheme = Literal["slack", "twilio", "hubspot", "discord", "sendgrid"]

_MAX_FIELDS: Final = 1_000
_FORM: Final = "application/x-www-form-urlencoded"


# ---- Slack
def verify_slack(request: SignedRequest) -> ValidSignature | None:
    """Verify `v0=` and the HMAC-SHA256 of `v0:TIME:BODY` by the signing secret, in hex."""
    at = read_timestamp([request.headers.get("x-slack-request-timestamp", "")])
    if at is None:
        return None
    signed = b"v0:%d:" % at + request.body
    for secret in request.secrets:
        expected = f"v0={hmac.digest(secret.encode(), signed, 'sha256').hex()}"
        if equals(request.text("x-slack-signature"), expected):
            body = _slack_body(request)
            name = body.get("event_id") or body.get("trigger_id") if type(body) is dict else ""
            return ValidSignature(at, name if type(name) is str else "")
    return None


def parse_slack(request: SignedRequest) -> AcceptedDelivery:
    """Parse events as JSON, commands as a form, and interactions as JSON in the field `payload`."""
    body = _slack_body(request)
    if type(body) is dict and body.get("type") == "url_verification":
        return AcceptedDelivery("", 200, {"challenge": body.get("challenge")}, is_handshake=True)
    return AcceptedDelivery(_encode_payload(body), 200)


def _slack_body(request: SignedRequest) -> Any:
    if not _is_form(request):
        return read_json(request.body)
    fields = _form(request)
    return read_json(fields["payload"].encode()) if fields.keys() == {"payload"} else fields


# ---- Twilio
def verify_twilio(request: SignedRequest) -> ValidSignature | None:
    """Verify the HMAC of the URL and the sorted form fields by the auth token, in base64.

    Other bodies are signed by their hash, `bodySHA256` in the query.
    """
    fields = _form_values(request) if _is_form(request) else {}
    listed = "".join(
        name + value for name in sorted(fields) for value in sorted(set(fields[name]))
    )  # fmt: skip
    hashes = parse_qs(urlsplit(request.url).query).get("bodySHA256", [])
    is_hashed = bool(hashes) or (bool(request.body) and not fields)  # it must not pass as a form
    expected = sha256(request.body).hexdigest()
    if is_hashed and not (len(hashes) == 1 and equals(hashes[0].lower(), expected)):
        return None
    settings = request.text("x-twilio-webhooks-signature-settings").upper()
    digest = "sha256" if "ALGORITHM=HMAC_SHA256" in settings else "sha1"
    sent = request.text("x-twilio-signature")
    for secret in request.secrets:
        for url in _port_variants(request.url):
            signed = hmac.digest(secret.encode(), (url + listed).encode(), digest)
            if equals(sent, base64.b64encode(signed).decode()):
                return ValidSignature()
    return None


def parse_twilio(request: SignedRequest) -> AcceptedDelivery:
    """Parse a form, or JSON. The empty response has no instructions for a call."""
    return AcceptedDelivery(
        _encode_payload(_form(request) if _is_form(request) else read_json(request.body)), 204
    )


def _port_variants(url: str) -> Iterator[str]:
    """Yield the URLs that Twilio may have signed: it adds the port to some of them."""
    yield url
    parts = urlsplit(url)
    if parts.port is not None:
        yield parts._replace(netloc=parts.netloc.rpartition(":")[0]).geturl()
    else:
        port = 443 if parts.scheme == "https" else 80
        yield parts._replace(netloc=f"{parts.netloc}:{port}").geturl()


# ---- HubSpot
_DECODED: Final = {
    "%3A": ":", "%2F": "/", "%3F": "?", "%40": "@", "%21": "!", "%24": "$", "%27": "'",
    "%28": "(", "%29": ")", "%2A": "*", "%2C": ",", "%3B": ";",
}  # fmt: skip


def verify_hubspot(request: SignedRequest) -> ValidSignature | None:
    """Verify version 3: HMAC-SHA256 of method, URL, body and time by the client secret."""
    at = read_timestamp([request.headers.get("x-hubspot-request-timestamp", "")], longest=15)
    if at is None:
        return None
    plain = request.url
    for code, sign in _DECODED.items():
        plain = plain.replace(code, sign).replace(code.lower(), sign)
    sent = request.text("x-hubspot-signature-v3")
    for secret in request.secrets:
        for url in {request.url, plain}:
            signed = b"POST%s%s%d" % (url.encode(), request.body, at)
            expected = base64.b64encode(hmac.digest(secret.encode(), signed, "sha256")).decode()
            if equals(sent, expected):
                return ValidSignature(at / 1_000, _batch_name(request, "eventId", "subscriptionId",
                                                      "objectId", "occurredAt"))  # fmt: skip
    return None


# ---- Discord
_PING: Final = 1
_COMPONENT: Final = 3
_COMPLETION: Final = 4


def verify_discord(request: SignedRequest) -> ValidSignature | None:
    """Verify Ed25519 of time and body by the application's public key in hex."""
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - takes 30 ms

    at = read_timestamp([request.headers.get("x-signature-timestamp", "")])
    signature = _hex(request.text("x-signature-ed25519"))
    if at is None or len(signature) != 64:
        return None
    signed = request.headers["x-signature-timestamp"].encode() + request.body
    for text in request.secrets:
        try:
            read_discord_key(text).verify(signature, signed)
        except InvalidSignature:
            continue
        name = read_map(request.body).get("id")
        return ValidSignature(at, name if type(name) is str else "")
    return None


def read_discord_key(text: str) -> Ed25519PublicKey:
    """Decode an application's public key. Raises: FlowError: it is not 64 hex digits."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (  # noqa: PLC0415 - as above
        Ed25519PublicKey,
    )

    try:
        return Ed25519PublicKey.from_public_bytes(_hex(text))
    except ValueError:
        raise _key_error("64 hex digits") from None


def parse_discord(request: SignedRequest) -> AcceptedDelivery:
    """Parse JSON. Pings are answered at once; interactions get a deferred response."""
    body = read_map(request.body)
    kind, is_interaction = body.get("type"), "token" in body
    if kind == _PING and "event" not in body:
        return AcceptedDelivery("", 200, {"type": 1}, is_handshake=True)
    if kind == 0:  # a ping of webhook events
        return AcceptedDelivery("", 204, is_handshake=True)
    if kind == _COMPLETION and is_interaction:  # must be answered at once, which a job cannot
        value = {"type": 8, "data": {"choices": []}}
        return AcceptedDelivery("", 200, value, is_handshake=True)
    payload = _encode_payload(read_json(request.body))
    if not is_interaction:
        return AcceptedDelivery(payload, 204)
    return AcceptedDelivery(payload, 200, {"type": 6 if kind == _COMPONENT else 5})


# ---- SendGrid
def verify_sendgrid(request: SignedRequest) -> ValidSignature | None:
    """Verify ECDSA with SHA-256 of time and body by the event webhook's public key in base64."""
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - as above
    from cryptography.hazmat.primitives import hashes  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415

    sent = request.headers.get("x-twilio-email-event-webhook-timestamp", "")
    at, signature = read_timestamp([sent]), _base64(
        request.text("x-twilio-email-event-webhook-signature")
    )  # fmt: skip
    if at is None or not signature:
        return None
    for text in request.secrets:
        key = read_sendgrid_key(text)
        try:
            key.verify(signature, sent.encode() + request.body, ec.ECDSA(hashes.SHA256()))
        except InvalidSignature:
            continue
        return ValidSignature(at, _batch_name(request, "sg_event_id"))
    return None


def read_sendgrid_key(text: str) -> EllipticCurvePublicKey:
    """Decode the public key of an event webhook. Raises: FlowError: it is not a public key."""
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415 - as above
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import load_der_public_key  # noqa: PLC0415

    try:
        key = load_der_public_key(_base64(text))
    except (ValueError, UnsupportedAlgorithm):
        raise _key_error("base64, as the settings of the event webhook show it") from None
    if not isinstance(key, ec.EllipticCurvePublicKey):
        raise _key_error("one of an elliptic curve")
    return key


def parse_json(request: SignedRequest) -> AcceptedDelivery:
    """Check that a body is JSON, and keep its text unchanged."""
    try:
        msgspec.json.decode(request.body)
        return AcceptedDelivery(request.body.decode(), 202)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        fault = name_json_fault(request.body, error)
        raise InvalidInput({}, f"the body is not valid JSON: {fault}") from None


VENDOR_VERIFIERS: Final[Mapping[VendorScheme, Callable[[SignedRequest], ValidSignature | None]]] = {
    "slack": verify_slack, "twilio": verify_twilio, "hubspot": verify_hubspot,
    "discord": verify_discord, "sendgrid": verify_sendgrid,
}  # fmt: skip
PARSERS: Final[Mapping[str, Callable[[SignedRequest], AcceptedDelivery]]] = {
    "slack": parse_slack, "twilio": parse_twilio, "discord": parse_discord,
}  # fmt: skip
"""Parsers of services that do not send JSON, or expect a status other than 202."""

ACCEPTED_STATUS: Final[Mapping[str, int]] = {"slack": 200, "twilio": 204}
"""The status that a service expects for an accepted delivery, if it is not 202."""


# ---- shared functions
def _is_form(request: SignedRequest) -> bool:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind == _FORM


def _form_values(request: SignedRequest) -> dict[str, list[str]]:
    """Return the values of a form by field. Raises: InvalidInput: malformed, or too many fields."""
    fields: dict[str, list[str]] = {}
    try:
        pairs = parse_qsl(
            request.body.decode("ascii"), keep_blank_values=True, max_num_fields=_MAX_FIELDS,
            errors="strict",
        )  # fmt: skip
    except ValueError:
        raise InvalidInput({}, "the form cannot be read") from None
    for name, value in pairs:
        fields.setdefault(name, []).append(value)
    return fields


def _form(request: SignedRequest) -> dict[str, str]:
    """Return the fields of a form, with the first value of repeated fields."""
    return {name: values[0] for name, values in _form_values(request).items()}


def _encode_payload(payload: Any) -> str:
    """Return a payload as JSON. Raises: InvalidInput: it is None, as the body is not JSON."""
    if payload is None:
        raise InvalidInput({}, "the body is not valid JSON")
    return msgspec.json.encode(payload).decode()


def _batch_name(request: SignedRequest, *keys: str) -> str:
    """Return a name for a list of events from their keys; it is equal in each retry."""
    body = read_json(request.body)
    if type(body) is not list or not body or not all(type(event) is dict for event in body):
        return ""
    if not all(type(event.get(keys[0])) in {int, str} for event in body):
        return ""
    parts = [[event.get(key) for key in keys] for event in body]
    return sha256(msgspec.json.encode(parts)).hexdigest()


def _hex(text: str) -> bytes:
    try:
        return bytes.fromhex(text) if text.isascii() and text.isalnum() else b""
    except ValueError:
        return b""


def _base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""


def _key_error(form: str) -> FlowError:
    return FlowError(f"the public key of the webhook is not a key: expected {form}")
