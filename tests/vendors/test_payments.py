"""payments: errors of the vendor, and events that it signs. See `scenarios/payments.py`, too."""

from __future__ import annotations

import hmac
import json
import time
from pathlib import Path
from typing import Any

import pytest
import stripe

from tests.vendors.asking import Asked
from tests.vendors.stripe_like import StripeLike

KEY, SIGNING = "sk_test_of_at_least_32_characters_in_all", "whsec_of_at_least_32_characters"
ENV = {"PAYMENTS_SECRET_KEY": KEY, "PAYMENTS_WEBHOOK_SECRET": SIGNING}


def asked(box: Path, steps: str, url: str = "http://127.0.0.1:9", **env: str) -> Asked:
    config = (
        "config:\n  secretKey: ${ env.PAYMENTS_SECRET_KEY }\n"
        f"  webhookSigningSecret: ${{ env.PAYMENTS_WEBHOOK_SECRET }}\n  endpoint: {url}\n"
    )
    return Asked(box, "payments", config, steps, env=ENV | env)


def returning(step: str) -> str:
    return f"steps:\n  - payments.{step}\n    as: it\n  - return: {{ value: '${{ vars.it }}' }}\n"


def test_an_error_of_the_vendor_fails_the_step_in_its_words(tmp_path: Path) -> None:
    steps = (
        "steps:\n  - try:\n"
        "      - payments.createRefund: { chargeId: ch_1 }\n"
        "    catch:\n"
        "      - return:\n"
        "          value: ['${ error.code }', '${ error.status }', '${ error.message }']\n"
    )
    with StripeLike(KEY) as vendor:
        vendor.refuses = (402, "Your card was declined.")
        found = asked(tmp_path, steps, vendor.url).ask().json
        vendor.refuses = None
        wrong = asked(tmp_path, steps, vendor.url, PAYMENTS_SECRET_KEY="another").ask().json
    assert found == ["httpFailed", 402, "'127.0.0.1' answered 402: Your card was declined."]
    assert wrong[:2] == ["httpFailed", 401]


def test_a_vendor_that_is_away_fails_the_step(tmp_path: Path) -> None:
    reply = asked(tmp_path, returning("createRefund: { chargeId: ch_1 }")).ask()
    assert reply.json["error"]["detail"] == "'127.0.0.1' cannot be reached"


# ---- webhooks
EVENT = {"id": "evt_1", "type": "invoice.paid", "created": 1, "livemode": False, "data": {"a": "ü"}}
VERIFY = """steps:
  - payments.verifyWebhookSignature: { signature: "${ headers['stripe-signature'] }" }
    as: event
  - return: { value: "${ vars.event }" }
"""


def sign(payload: bytes, at: float, secret: str = SIGNING) -> str:
    signed = f"{int(at)}.".encode() + payload
    return f"t={int(at)},v1={hmac.new(secret.encode(), signed, 'sha256').hexdigest()}"


def deliver(box: Path, payload: bytes, signature: str | None) -> Any:
    headers = {"content-type": "application/json"}
    if signature is not None:
        headers["stripe-signature"] = signature
    return asked(box, VERIFY).ask(raw=payload, headers=headers)


def test_an_event_that_the_vendor_has_signed_is_read(tmp_path: Path) -> None:
    payload = json.dumps(EVENT).encode()
    signature = sign(payload, time.time())
    stripe.Webhook.construct_event(payload, signature, SIGNING)  # type: ignore[no-untyped-call]
    assert deliver(tmp_path, payload, signature).json == EVENT


def test_any_of_several_signatures_will_do(tmp_path: Path) -> None:
    payload = json.dumps(EVENT).encode()
    right = sign(payload, time.time())
    assert deliver(tmp_path, payload, right.replace(",", ",v1=00,v0=1,")).json == EVENT


PAYLOAD = json.dumps(EVENT).encode()


@pytest.mark.parametrize("signature", [
    None, "", "nonsense", "t=,v1=", "t=1,t=2,v1=a", f"t={'9' * 30},v1=a",
    sign(PAYLOAD, 1), sign(PAYLOAD, time.time() + 10_000),
    sign(PAYLOAD, time.time(), "another secret"), sign(PAYLOAD + b" ", time.time()),
    sign(PAYLOAD, time.time()).partition(",")[0], "v1=" + "ü" * 64,
], ids=range(12))  # fmt: skip
def test_an_event_without_a_good_signature_is_a_400(tmp_path: Path, signature: str | None) -> None:
    sent = None if signature is None else signature.encode().decode("latin-1")
    reply = deliver(tmp_path, PAYLOAD, sent)
    assert reply.status == 400
    assert (
        reply.json["error"]["message"] == "the signature of this event is missing, wrong or too old"
    )
