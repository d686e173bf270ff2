"""What vendors send is taken as their own libraries sign it, and what is wrong is refused."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any
from urllib.parse import urlencode

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives import serialization as pem
from cryptography.hazmat.primitives.asymmetric import ec
from hubspot.utils.signature import Signature as HubSpot
from nacl.signing import SigningKey
from sendgrid.helpers.eventwebhook import EventWebhook
from slack_sdk.signature import SignatureVerifier
from twilio.request_validator import RequestValidator

from bbops.compiler.testing.client import Reply
from bbops.runtime.values.failures import FlowError
from bbops.runtime.work.signatures import Scheme, WebhookSignature
from tests.conftest import Files, Serving, run, sample
from tests.support.signing_keys import p256_key, p384_key

pytestmark = pytest.mark.long

SECRET = "a-test-key-of-more-than-32-characters"
BASE, PATH = "https://shop.example.com/v1", "/hooks/in"
NOW = 1767323045  # the still clock of tests
DISCORD = SigningKey(bytes(range(32)))
SPKI = pem.PublicFormat.SubjectPublicKeyInfo
SENDGRID = base64.b64encode(p256_key().public_key().public_bytes(pem.Encoding.DER, SPKI)).decode()
FORM = {"content-type": "application/x-www-form-urlencoded"}
JSON = {"content-type": "application/json"}


@dataclass(frozen=True)
class Sent:
    """One delivery, as a vendor sends it."""

    headers: dict[str, str]
    body: bytes
    query: str = ""


def slack(body: Any, *, at: int = NOW, key: str = SECRET, is_form: bool = False) -> Sent:
    data = urlencode(body).encode() if is_form else json.dumps(body).encode()
    verifier = SignatureVerifier(key)
    signed = verifier.generate_signature(timestamp=str(at), body=data)
    headers = {"x-slack-request-timestamp": str(at), "x-slack-signature": str(signed)}
    return Sent(headers | (FORM if is_form else JSON), data)


def twilio(
    fields: Any, *, url: str = BASE + PATH, query: str = "", key: str = SECRET, algorithm: str = ""
) -> Sent:
    whole = f"{url}?{query}" if query else url
    signed = RequestValidator(key).compute_signature(whole, fields, algorithm or None)
    headers = FORM | {"x-twilio-signature": signed}
    if algorithm:
        headers["x-twilio-webhooks-signature-settings"] = f"key=k1,algorithm={algorithm}"
    return Sent(headers, urlencode(fields, doseq=True).encode(), query)


def twilio_json(body: Any, *, key: str = SECRET, hashed: str = "") -> Sent:
    data = json.dumps(body).encode()
    query = f"bodySHA256={hashed or sha256(data).hexdigest()}"
    signed = RequestValidator(key).compute_signature(f"{BASE}{PATH}?{query}", {})
    return Sent(JSON | {"x-twilio-signature": signed}, data, query)


def hubspot(body: Any, *, at: int = NOW * 1000, key: str = SECRET, url: str = BASE + PATH) -> Sent:
    data = json.dumps(body)
    signed = HubSpot.get_signature(key, data, "v3", url, "POST", str(at))
    headers = {"x-hubspot-signature-v3": signed, "x-hubspot-request-timestamp": str(at)}
    return Sent(JSON | headers, data.encode())


def discord(body: Any, *, at: int = NOW, key: SigningKey = DISCORD) -> Sent:
    data = json.dumps(body).encode()
    signed = key.sign(str(at).encode() + data).signature.hex()
    headers = {"x-signature-ed25519": signed, "x-signature-timestamp": str(at)}
    return Sent(JSON | headers, data)


def sendgrid(body: Any, *, at: int = NOW, key: Any = None) -> Sent:
    data, key = json.dumps(body), key or p256_key()
    signed = key.sign(f"{at}{data}".encode(), ec.ECDSA(hashes.SHA256()))
    text = base64.b64encode(signed).decode()
    library = EventWebhook(SENDGRID)
    if key is p256_key():
        assert library.verify_signature(data, text, str(at))
    headers = {
        "x-twilio-email-event-webhook-signature": text,
        "x-twilio-email-event-webhook-timestamp": str(at),
    }  # fmt: skip
    return Sent(JSON | headers, data.encode())


EVENT = {"type": "event_callback", "event_id": "Ev1", "event": {"type": "app_mention"}}
BATCH = [{"eventId": 1, "subscriptionId": 2, "objectId": 3, "occurredAt": 4, "attemptNumber": 0}]
MAILS = [{"email": "a@b.c", "event": "open", "sg_event_id": "e1"}]
SMS = {"MessageSid": "SM1", "From": "+15550001", "Body": "hé & =", "Empty": ""}
RIGHT: dict[Scheme, Sent] = {
    "slack": slack(EVENT), "twilio": twilio(SMS), "hubspot": hubspot(BATCH),
    "discord": discord({"id": "9", "type": 2, "token": "t"}), "sendgrid": sendgrid(MAILS),
}  # fmt: skip


def secrets_of(scheme: Scheme) -> list[str]:
    keys = {"discord": [DISCORD.verify_key.encode().hex()], "sendgrid": [SENDGRID]}
    return keys.get(scheme, [SECRET])


def verified(scheme: Scheme, sent: Sent, *, now: float = NOW) -> str:
    url = BASE + PATH + (f"?{sent.query}" if sent.query else "")
    return WebhookSignature(scheme, secrets_of(scheme)).verify(sent.headers, sent.body, now, url)


EMPTY_FORM = FORM | {"x-twilio-signature": twilio_json({"a": 1}).headers["x-twilio-signature"]}
"""What was signed for JSON, brought again as a form without fields."""


# ---- a served project
def project(scheme: Scheme) -> Files:
    key = {"discord": "publicKey", "sendgrid": "publicKey"}.get(scheme, "secret")
    value = secrets_of(scheme)[0] if key == "publicKey" else "${ env.JWT_SECRET }"
    return sample(
        functions__hear="steps: [log: { message: heard }]\n",
        triggers__in=(
            f"webhook:\n  path: {PATH}\n"
            f"  signature: {{ scheme: {scheme}, {key}: '{value}' }}\nfunction: hear\n"
        ),
    )  # fmt: skip


@dataclass(frozen=True)
class Answered:
    """An answer, and the payloads that were kept."""

    reply: Reply
    kept: list[Any]


@pytest.fixture
def deliver(serving: Serving) -> Callable[..., Answered]:
    def once(scheme: Scheme, *every: Sent, **more: str) -> Answered:
        async def story() -> Answered:
            async with serving(project(scheme), url=BASE) as client:
                reply = None
                for sent in every:
                    path = f"{PATH}?{sent.query}" if sent.query else PATH
                    headers = {"host": "evil.example", **sent.headers, **more}
                    reply = await client.ask("POST", path, raw=sent.body, headers=headers)
                rows = await client.database.read("SELECT body FROM _bbops_received")
                assert reply is not None
                return Answered(reply, [json.loads(body) for (body,) in rows])

        found: Answered = run(story())
        return found

    return once


@pytest.mark.parametrize(("scheme", "sent", "status", "payload"), [
    ("slack", RIGHT["slack"], 200, EVENT),
    ("slack", slack({"command": "/go", "text": "a b"}, is_form=True), 200,
     {"command": "/go", "text": "a b"}),
    ("slack", slack({"payload": '{"type": "block_actions"}'}, is_form=True), 200,
     {"type": "block_actions"}),
    ("twilio", RIGHT["twilio"], 204, SMS),
    ("twilio", twilio(SMS, query="a=1&b=%20"), 204, SMS),
    ("twilio", twilio(SMS, url=f"https://shop.example.com:443/v1{PATH}"), 204, SMS),
    ("twilio", twilio(SMS, algorithm="HMAC_SHA256"), 204, SMS),
    ("twilio", twilio_json({"a": 1}), 204, {"a": 1}),
    ("hubspot", RIGHT["hubspot"], 202, BATCH),
    ("discord", RIGHT["discord"], 200, {"id": "9", "type": 2, "token": "t"}),
    ("discord", discord({"type": 1, "event": {"type": "E"}}), 204,
     {"type": 1, "event": {"type": "E"}}),
    ("sendgrid", RIGHT["sendgrid"], 202, MAILS),
], ids=lambda one: str(one)[:30])  # fmt: skip
def test_what_a_vendor_sends_is_taken(
    deliver: Callable[..., Answered], scheme: Scheme, sent: Sent, status: int, payload: Any
) -> None:
    """Also where a client says that it came to another host."""
    found = deliver(scheme, sent, sent)
    assert (found.reply.status, found.kept) == (status, [payload]), found.reply.body


@pytest.mark.parametrize(("scheme", "sent", "status", "answer"), [
    ("slack", slack({"type": "url_verification", "challenge": "c"}), 200, {"challenge": "c"}),
    ("discord", discord({"type": 1, "id": "1", "token": "t"}), 200, {"type": 1}),
    ("discord", discord({"type": 0, "version": 1}), 204, None),
    ("discord", discord({"type": 4, "id": "1", "token": "t"}), 200,
     {"type": 8, "data": {"choices": []}}),
], ids=lambda one: str(one)[:30])  # fmt: skip
def test_a_handshake_is_answered_and_runs_nothing(
    deliver: Callable[..., Answered], scheme: Scheme, sent: Sent, status: int, answer: Any
) -> None:
    found = deliver(scheme, sent)
    assert (found.reply.status, found.reply.json, found.kept) == (status, answer, [])


def test_what_people_do_at_discord_hears_that_an_answer_follows(
    deliver: Callable[..., Answered],
) -> None:
    assert deliver("discord", RIGHT["discord"]).reply.json == {"type": 5}
    pressed = discord({"id": "9", "type": 3, "token": "t"})
    assert deliver("discord", pressed).reply.json == {"type": 6}


def test_an_attempt_of_hubspot_is_known_by_its_events() -> None:
    again = [{**BATCH[0], "attemptNumber": 1}]
    assert verified("hubspot", hubspot(again)) == verified("hubspot", RIGHT["hubspot"])
    assert verified("hubspot", hubspot([{**BATCH[0], "eventId": 5}])) != verified(
        "hubspot", RIGHT["hubspot"]
    )


# ---- what is wrong
def flipped(scheme: Scheme) -> list[Sent]:
    """Return a good delivery with one thing changed."""
    sent = RIGHT[scheme]
    (signature,) = [name for name in sent.headers if "signature" in name and "time" not in name]
    value = sent.headers[signature]
    other = ("0" if value[-6] != "0" else "1").join([value[:-6], value[-5:]])
    found = [
        replace(sent, body=sent.body + b" "), replace(sent, body=b""),
        *(replace(sent, headers=sent.headers | {signature: one}) for one in (
            "", other, value[:-1], value + value, "é", "v0=", "0" * 128, "=" * 3_000, "null",
        )),
        replace(sent, headers={}),
    ]  # fmt: skip
    for name in sent.headers:
        if "timestamp" in name:
            found += [
                replace(sent, headers=sent.headers | {name: one})
                for one in ("", "x", "-1", "1e9", str(NOW + 1), "9" * 40, "١٢٣", f" {NOW}")
            ]
    return found


@pytest.mark.parametrize("scheme", RIGHT)
def test_a_delivery_that_was_changed_is_refused(
    deliver: Callable[..., Answered], scheme: Scheme
) -> None:
    every = flipped(scheme)
    assert len(every) > 10

    for sent in every:
        with pytest.raises(Exception) as caught:
            verified(scheme, sent)
        assert getattr(caught.value, "code", "") == "signatureInvalid", (sent, caught.value)
    found = deliver(scheme, every[0])
    assert (found.reply.status, found.kept) == (401, [])


@pytest.mark.parametrize(("scheme", "sent"), [
    ("slack", slack(EVENT, key="another-key-of-somebody-else-entirely")),
    ("twilio", twilio(SMS, key="another")), ("twilio", twilio(SMS, url="https://evil.example/in")),
    ("twilio", twilio(SMS, url=f"http://shop.example.com/v1{PATH}")),
    ("twilio", twilio_json({"a": 1}, hashed="0" * 64)),
    ("twilio", replace(twilio_json({"a": 1}), body=b"", headers=EMPTY_FORM)),
    ("hubspot", hubspot(BATCH, key="another")),
    ("hubspot", hubspot(BATCH, url="https://evil.example/in")),
    ("discord", discord({"type": 1, "token": "t"}, key=SigningKey(bytes(32)))),
    ("sendgrid", sendgrid(MAILS, key=p384_key())),
])  # fmt: skip
def test_what_another_key_or_address_signs_is_refused(
    deliver: Callable[..., Answered], scheme: Scheme, sent: Sent
) -> None:
    """A handshake, too, is answered to the vendor alone."""
    found = deliver(scheme, sent)
    assert (found.reply.status, found.kept) == (401, [])


@pytest.mark.parametrize(("scheme", "sent"), [
    ("slack", slack(EVENT, at=NOW - 301)), ("slack", slack(EVENT, at=NOW + 301)),
    ("hubspot", hubspot(BATCH, at=(NOW - 301) * 1000)),
    ("discord", discord({"type": 1}, at=NOW - 301)), ("sendgrid", sendgrid(MAILS, at=NOW - 301)),
])  # fmt: skip
def test_what_is_too_old_is_refused(
    deliver: Callable[..., Answered], scheme: Scheme, sent: Sent
) -> None:
    found = deliver(scheme, sent)
    assert (found.reply.status, found.reply.json["error"]["code"]) == (401, "signatureLate")


@pytest.mark.parametrize(("scheme", "keys"), [
    ("discord", ["not a key"]), ("discord", ["00"]), ("sendgrid", ["not a key"]),
    ("sendgrid", [base64.b64encode(b"x" * 40).decode()]),
])  # fmt: skip
def test_an_invalid_public_key_is_an_error_of_the_project(scheme: Scheme, keys: list[str]) -> None:
    sent = RIGHT[scheme]
    with pytest.raises(FlowError, match="the public key of the webhook is not a key: expected"):
        WebhookSignature(scheme, keys).verify(sent.headers, sent.body, NOW)


def test_a_key_is_changed_without_a_gap() -> None:
    for scheme, other in (("discord", SigningKey(bytes(32)).verify_key.encode().hex()),
                          ("slack", "another")):  # fmt: skip
        sent = RIGHT[scheme]  # type: ignore[index]
        keys = [other, *secrets_of(scheme)]  # type: ignore[arg-type]
        assert WebhookSignature(scheme, keys).verify(sent.headers, sent.body, NOW)  # type: ignore[arg-type]


@pytest.mark.parametrize(("scheme", "body"), [
    ("slack", b"a=%ff"), ("twilio", b"a=%ff"),
    ("twilio", b"&".join([b"a=b"] * 2_000)),
])  # fmt: skip
def test_a_form_that_cannot_be_read_is_refused(
    deliver: Callable[..., Answered], scheme: Scheme, body: bytes
) -> None:
    if scheme == "slack":
        signed = SignatureVerifier(SECRET).generate_signature(timestamp=str(NOW), body=body)
        headers = {"x-slack-request-timestamp": str(NOW), "x-slack-signature": str(signed)}
    else:
        headers = {"x-twilio-signature": "x"}
    found = deliver(scheme, Sent(headers | FORM, body))
    assert found.reply.status in {400, 401}
    assert found.kept == []


def test_a_verified_form_without_json_is_kept(deliver: Callable[..., Answered]) -> None:
    body = b"payload=nojson"
    signed = SignatureVerifier(SECRET).generate_signature(timestamp=str(NOW), body=body)
    headers = {"x-slack-request-timestamp": str(NOW), "x-slack-signature": str(signed)}
    found = deliver("slack", Sent(headers | FORM, body))
    assert found.reply.status == 200
    reason = "the body is not valid JSON"
    assert found.kept == [{"bbops.unreadable": reason, "body": "payload=nojson"}]


def test_the_clock_of_the_libraries_is_this_one() -> None:
    """What is signed now is taken by both."""
    now = int(time.time())
    sent = slack(EVENT, at=now)
    assert SignatureVerifier(SECRET).is_valid_request(sent.body, sent.headers)
    assert verified("slack", sent, now=now) == "Ev1"
    assert HubSpot.is_valid(
        hubspot(BATCH, at=now * 1000).headers["x-hubspot-signature-v3"], SECRET,
        json.dumps(BATCH), BASE + PATH, "POST", "v3", str(now * 1000),
    )  # fmt: skip
