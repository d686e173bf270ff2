"""Signature schemes of webhooks."""

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

from bbops.runtime.values.failures import NOTHING, FlowError, InvalidInput
from bbops.runtime.values.json_faults import name_json_fault

Headers = Mapping[str, str]

MAX_HEADER: Final = 2_000
"""Characters of a header that is looked at."""


@dataclass(frozen=True, slots=True)
class SignedRequest:
    """A delivery as it came, and what may have signed it.

    Attributes:
        headers: by their names in lower case; one that came twice is not among them.
        secrets: any of them is good, while one takes the place of another; of services with a key
            pair, their public keys.
        url: the project's public address and path, with the query of the request.
    """

    headers: Headers
    body: bytes
    secrets: Sequence[str]
    header: str
    url: str

    def text(self, name: str) -> str:
        """Return a header that may be long; empty without one."""
        return self.headers.get(name, "")[:MAX_HEADER]


@dataclass(frozen=True, slots=True)
class ValidSignature:
    """A good signature: when it was made, and what the service calls the delivery."""

    at: float | None = None
    name: str = ""


@dataclass(frozen=True, slots=True)
class AcceptedDelivery:
    """What becomes of a delivery: what its function is given, as JSON, and the answer.

    Attributes:
        is_handshake: the service only asks whether somebody is there; nothing runs.
    """

    payload: str
    status: int
    value: Any = NOTHING
    is_handshake: bool = False


def equals(given: str, right: str) -> bool:
    """Return whether two texts are equal, in constant time."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), right.encode())


def read_timestamp(texts: Sequence[str], *, longest: int = 12) -> int | None:
    """Return a time, written as a whole number and once."""
    text = texts[0] if len(texts) == 1 else ""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= longest else None


def read_map(body: bytes) -> dict[str, Any]:
    """Return the JSON map of a body; empty for anything else."""
    found = read_json(body)
    return found if type(found) is dict else {}


def read_json(body: bytes) -> Any:
    """Return the JSON of a body; None for anything else."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


MIN_KEY_BYTES: Final = 24
"""Of the key of a secret that we sign with; the specification asks for it."""

_PREFIX: Final = "whsec_"


def read_key(secret: str) -> bytes:
    """Return the key that a secret stands for: base64, with or without `whsec_` before it.

    Raises:
        ValueError: it is not base64, or empty.
    """
    try:
        key = base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not key:
        raise ValueError("the secret is not base64, with or without 'whsec_' before it")
    return key


def read_sending_key(secret: str) -> bytes:
    """Return the key of a receiver's secret. Raises: ValueError: it is not one, or too short."""
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
        key: of `read_key`.
        name: the `webhook-id`.
        at: the `webhook-timestamp`, in seconds since 1970.
        body: as it is sent.

    Raises:
        ValueError: the body is not UTF-8, or there is no such time.
    """
    return Webhook(key).sign(name, datetime.fromtimestamp(at, UTC), body.decode())


def headers(key: bytes, name: str, at: int, body: bytes) -> dict[str, str]:
    """Return the headers of a message that is sent.

    Raises:
        ValueError: as `sign`.
    """
    return {
        "content-type": "application/json", "webhook-id": name, "webhook-timestamp": str(at),
        "webhook-signature": sign(key, name, at, body),
    }  # fmt: skip


if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

VendorScheme = Literal["slack", "twilio", "hubspot", "discord", "sendgrid"]

_MAX_FIELDS: Final = 1_000
_FORM: Final = "application/x-www-form-urlencoded"


# ---- Slack
def verify_slack(given: SignedRequest) -> ValidSignature | None:
    """`v0=` and HMAC-SHA256 of `v0:TIME:BODY` by the signing secret, in hex."""
    at = read_timestamp([given.headers.get("x-slack-request-timestamp", "")])
    if at is None:
        return None
    signed = b"v0:%d:" % at + given.body
    for secret in given.secrets:
        right = f"v0={hmac.digest(secret.encode(), signed, 'sha256').hex()}"
        if equals(given.text("x-slack-signature"), right):
            body = _slack_body(given)
            name = body.get("event_id") or body.get("trigger_id") if type(body) is dict else ""
            return ValidSignature(at, name if type(name) is str else "")
    return None


def parse_slack(given: SignedRequest) -> AcceptedDelivery:
    """Events are JSON; commands are a form, and what people click is JSON in a field of one."""
    body = _slack_body(given)
    if type(body) is dict and body.get("type") == "url_verification":
        return AcceptedDelivery("", 200, {"challenge": body.get("challenge")}, is_handshake=True)
    return AcceptedDelivery(_encode_payload(body), 200)


def _slack_body(given: SignedRequest) -> Any:
    if not _is_form(given):
        return read_json(given.body)
    fields = _form(given)
    return read_json(fields["payload"].encode()) if fields.keys() == {"payload"} else fields


# ---- Twilio
def verify_twilio(given: SignedRequest) -> ValidSignature | None:
    """HMAC of the address and the sorted fields of the form by the auth token, in base64.

    Another body than a form is signed by its hash in the query, `bodySHA256`.
    """
    fields = _form_values(given) if _is_form(given) else {}
    listed = "".join(
        name + value for name in sorted(fields) for value in sorted(set(fields[name]))
    )  # fmt: skip
    hashes = parse_qs(urlsplit(given.url).query).get("bodySHA256", [])
    is_hashed = bool(hashes) or (bool(given.body) and not fields)  # else it could pass for a form
    right = sha256(given.body).hexdigest()
    if is_hashed and not (len(hashes) == 1 and equals(hashes[0].lower(), right)):
        return None
    settings = given.text("x-twilio-webhooks-signature-settings").upper()
    digest = "sha256" if "ALGORITHM=HMAC_SHA256" in settings else "sha1"
    sent = given.text("x-twilio-signature")
    for secret in given.secrets:
        for url in _port_variants(given.url):
            signed = hmac.digest(secret.encode(), (url + listed).encode(), digest)
            if equals(sent, base64.b64encode(signed).decode()):
                return ValidSignature()
    return None


def parse_twilio(given: SignedRequest) -> AcceptedDelivery:
    """A form, or JSON; an empty answer makes it say nothing to the caller."""
    return AcceptedDelivery(_encode_payload(_form(given) if _is_form(given) else read_json(given.body)), 204)


def _port_variants(url: str) -> Iterator[str]:
    """Yield an address as Twilio may have signed it: it adds the port of some requests."""
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


def verify_hubspot(given: SignedRequest) -> ValidSignature | None:
    """Version 3: HMAC-SHA256 of method, address, body and time by the client's secret."""
    at = read_timestamp([given.headers.get("x-hubspot-request-timestamp", "")], longest=15)
    if at is None:
        return None
    plain = given.url
    for code, sign in _DECODED.items():
        plain = plain.replace(code, sign).replace(code.lower(), sign)
    sent = given.text("x-hubspot-signature-v3")
    for secret in given.secrets:
        for url in {given.url, plain}:
            signed = b"POST%s%s%d" % (url.encode(), given.body, at)
            right = base64.b64encode(hmac.digest(secret.encode(), signed, "sha256")).decode()
            if equals(sent, right):
                return ValidSignature(at / 1_000, _batch_name(given, "eventId", "subscriptionId",
                                                      "objectId", "occurredAt"))  # fmt: skip
    return None


# ---- Discord
_PING: Final = 1
_COMPONENT: Final = 3
_COMPLETION: Final = 4


def verify_discord(given: SignedRequest) -> ValidSignature | None:
    """Ed25519 of time and body, by the application's public key in hex."""
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - takes 30 ms

    at = read_timestamp([given.headers.get("x-signature-timestamp", "")])
    signature = _hex(given.text("x-signature-ed25519"))
    if at is None or len(signature) != 64:
        return None
    signed = given.headers["x-signature-timestamp"].encode() + given.body
    for text in given.secrets:
        try:
            read_discord_key(text).verify(signature, signed)
        except InvalidSignature:
            continue
        name = read_map(given.body).get("id")
        return ValidSignature(at, name if type(name) is str else "")
    return None


def read_discord_key(text: str) -> Ed25519PublicKey:
    """Return an application's public key. Raises: FlowError: it is not 64 hex digits."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (  # noqa: PLC0415 - as above
        Ed25519PublicKey,
    )

    try:
        return Ed25519PublicKey.from_public_bytes(_hex(text))
    except ValueError:
        raise _key_error("64 hex digits") from None


def parse_discord(given: SignedRequest) -> AcceptedDelivery:
    """Answer its pings; to what people do, that an answer follows, which is the function's."""
    body = read_map(given.body)
    kind, is_interaction = body.get("type"), "token" in body
    if kind == _PING and "event" not in body:
        return AcceptedDelivery("", 200, {"type": 1}, is_handshake=True)
    if kind == 0:  # of webhook events
        return AcceptedDelivery("", 204, is_handshake=True)
    if kind == _COMPLETION and is_interaction:  # nobody can wait for a job with it
        value = {"type": 8, "data": {"choices": []}}
        return AcceptedDelivery("", 200, value, is_handshake=True)
    payload = _encode_payload(read_json(given.body))
    if not is_interaction:
        return AcceptedDelivery(payload, 204)
    return AcceptedDelivery(payload, 200, {"type": 6 if kind == _COMPONENT else 5})


# ---- SendGrid
def verify_sendgrid(given: SignedRequest) -> ValidSignature | None:
    """ECDSA with SHA-256 of time and body, by the public key of the event webhook in base64."""
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - as above
    from cryptography.hazmat.primitives import hashes  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415

    sent = given.headers.get("x-twilio-email-event-webhook-timestamp", "")
    at, signature = read_timestamp([sent]), _base64(
        given.text("x-twilio-email-event-webhook-signature")
    )  # fmt: skip
    if at is None or not signature:
        return None
    for text in given.secrets:
        key = read_sendgrid_key(text)
        try:
            key.verify(signature, sent.encode() + given.body, ec.ECDSA(hashes.SHA256()))
        except InvalidSignature:
            continue
        return ValidSignature(at, _batch_name(given, "sg_event_id"))
    return None


def read_sendgrid_key(text: str) -> EllipticCurvePublicKey:
    """Return the public key of an event webhook. Raises: FlowError: it is not one."""
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


def parse_json(given: SignedRequest) -> AcceptedDelivery:
    """A body in JSON, which is kept as it came."""
    try:
        msgspec.json.decode(given.body)
        return AcceptedDelivery(given.body.decode(), 202)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        fault = name_json_fault(given.body, error)
        raise InvalidInput({}, f"the body is not valid JSON: {fault}") from None


VENDOR_VERIFIERS: Final[Mapping[VendorScheme, Callable[[SignedRequest], ValidSignature | None]]] = {
    "slack": verify_slack, "twilio": verify_twilio, "hubspot": verify_hubspot, "discord": verify_discord,
    "sendgrid": verify_sendgrid,
}  # fmt: skip
PARSERS: Final[Mapping[str, Callable[[SignedRequest], AcceptedDelivery]]] = {
    "slack": parse_slack, "twilio": parse_twilio, "discord": parse_discord,
}  # fmt: skip
"""Those that bring something else than JSON, or want another answer than 202."""

ACCEPTED_STATUS: Final[Mapping[str, int]] = {"slack": 200, "twilio": 204}
"""The status that a service expects of a delivery that is kept, where that is not 202."""


# ---- what they share
def _is_form(given: SignedRequest) -> bool:
    kind = given.headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind == _FORM


def _form_values(given: SignedRequest) -> dict[str, list[str]]:
    """Return the fields of a form. Raises: InvalidInput: it cannot be read, or has too many."""
    found: dict[str, list[str]] = {}
    try:
        pairs = parse_qsl(
            given.body.decode("ascii"), keep_blank_values=True, max_num_fields=_MAX_FIELDS,
            errors="strict",
        )  # fmt: skip
    except ValueError:
        raise InvalidInput({}, "the form cannot be read") from None
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return found


def _form(given: SignedRequest) -> dict[str, str]:
    """Return the fields of a form, of several with one name the first."""
    return {name: values[0] for name, values in _form_values(given).items()}


def _encode_payload(payload: Any) -> str:
    """Return what a function is given, as JSON. Raises: InvalidInput: there is nothing."""
    if payload is None:
        raise InvalidInput({}, "the body is not valid JSON")
    return msgspec.json.encode(payload).decode()


def _batch_name(given: SignedRequest, *keys: str) -> str:
    """Return what names a list of events, also where it is tried again with other numbers."""
    body = read_json(given.body)
    if type(body) is not list or not body or not all(type(one) is dict for one in body):
        return ""
    if not all(type(one.get(keys[0])) in {int, str} for one in body):
        return ""
    parts = [[one.get(key) for key in keys] for one in body]
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
