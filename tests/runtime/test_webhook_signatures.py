"""What other services sign is taken, by their own libraries; what is wrong or late is refused."""

from __future__ import annotations

import base64
import hmac
import json
import time
from datetime import UTC, datetime

import pytest
import stripe
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks.webhooks import Webhook

from bbops.runtime.values.failures import FlowError, Thrown
from bbops.runtime.work.signatures import Scheme, WebhookSignature, check_secret, read_headers

SECRET = f"whsec_{base64.b64encode(b'k' * 32).decode()}"
OTHER = f"whsec_{base64.b64encode(b'o' * 32).decode()}"
BODY = b'{"id": "evt_1", "type": "paid"}'
NOW = 1_800_000_000


def standard(body: bytes = BODY, *, secret: str = SECRET, at: int = NOW) -> dict[str, str]:
    signed = Webhook(secret).sign("msg_1", datetime.fromtimestamp(at, UTC), body.decode())
    return {"webhook-id": "msg_1", "webhook-timestamp": str(at), "webhook-signature": signed}


def striped(body: bytes = BODY, *, secret: str = SECRET, at: int = NOW) -> dict[str, str]:
    compute = stripe.WebhookSignature._compute_signature
    return {"stripe-signature": f"t={at},v1={compute(f'{at}.{body.decode()}', secret)},v0=x"}


def refused(scheme: Scheme, headers: dict[str, str], body: bytes = BODY, **more: str) -> str:
    with pytest.raises(Thrown) as caught:
        WebhookSignature(scheme, [SECRET], **more).verify(headers, body, NOW)
    assert caught.value.status == 401
    return caught.value.code


def test_the_example_of_the_specification_is_taken() -> None:
    secret, at = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", 1614265330
    body, name = b'{"test": 2432232314}', "msg_p5jXN8AQM9LWM0D4loKWxJek"
    signed = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    headers = {"webhook-id": name, "webhook-timestamp": str(at), "webhook-signature": signed}
    assert WebhookSignature("standard", [secret]).verify(headers, body, at) == name


def test_what_the_libraries_sign_is_taken_also_with_a_secret_that_is_on_its_way_out() -> None:
    for secrets in ([SECRET], [OTHER, SECRET], [SECRET, OTHER]):
        assert WebhookSignature("standard", secrets).verify(standard(), BODY, NOW + 299) == "msg_1"
        assert WebhookSignature("stripe", secrets).verify(striped(), BODY, NOW - 299) == "evt_1"
    assert stripe.Webhook.construct_event(BODY, striped(at=int(time.time()))["stripe-signature"],
                                          SECRET)["id"] == "evt_1"  # fmt: skip


def test_the_example_of_github_is_taken() -> None:
    digest = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    headers = {"x-hub-signature-256": f"sha256={digest}", "x-github-delivery": "d-1"}
    signature = WebhookSignature("github", ["It's a Secret to Everybody"])
    assert signature.verify(headers, b"Hello, World!", NOW) == "d-1"


def test_hmac_is_taken_in_hex_and_base64_with_and_without_its_name() -> None:
    digest = hmac.digest(SECRET.encode(), BODY, "sha256")
    signature = WebhookSignature("hmac", [SECRET], header="X-Sign")
    names = {
        signature.verify({"x-sign": text}, BODY, NOW)
        for text in (
            digest.hex(), digest.hex().upper(), f"sha256={digest.hex()}",
            base64.b64encode(digest).decode(),
        )
    }  # fmt: skip
    assert names == {""}
    assert signature.verify({"x-sign": digest.hex(), "webhook-id": "a"}, BODY, NOW) == "a"


HOSTILE: list[dict[str, str]] = [
    {},
    {"webhook-id": "msg_1"},
    standard() | {"webhook-signature": ""},
    standard() | {"webhook-signature": "v1,"},
    standard() | {"webhook-signature": "v1"},
    standard() | {"webhook-signature": "v2," + standard()["webhook-signature"][3:]},
    standard() | {"webhook-id": "msg_2"},
    standard() | {"webhook-timestamp": str(NOW + 1)},
    standard() | {"webhook-timestamp": f"+{NOW}"},
    standard() | {"webhook-timestamp": "9" * 4_000},
    standard() | {"webhook-signature": "x " * 5_000 + standard()["webhook-signature"]},
    standard(secret=OTHER),
    standard(b"{}"),
]


@pytest.mark.parametrize("headers", HOSTILE)
def test_a_wrong_signature_is_refused(headers: dict[str, str]) -> None:
    assert refused("standard", headers) == "signatureInvalid"


@pytest.mark.parametrize("header", [
    "", "t=1", f"t={NOW},v1=", f"t={NOW}", f"t={NOW},t={NOW},v1=00", "v1=00", "t=x,v1=y",
    striped(b"{}")["stripe-signature"], striped(secret=OTHER)["stripe-signature"],
    striped()["stripe-signature"].replace("v1=", "v0="),
])  # fmt: skip
def test_a_wrong_signature_of_a_payment_is_refused(header: str) -> None:
    assert refused("stripe", {"stripe-signature": header}) == "signatureInvalid"


def test_what_is_late_or_of_the_future_is_refused_by_its_own_code() -> None:
    for at in (NOW - 301, NOW + 301):
        assert refused("standard", standard(at=at)) == "signatureLate"
        assert refused("stripe", striped(at=at)) == "signatureLate"
    long = WebhookSignature("standard", [SECRET], tolerance_seconds=600)
    assert long.verify(standard(at=NOW - 599), BODY, NOW) == "msg_1"


def test_a_secret_that_is_no_base64_is_a_mistake_of_the_project() -> None:
    with pytest.raises(FlowError, match="not base64"):
        WebhookSignature("standard", ["whsec_?"]).verify(standard(), BODY, NOW)


def test_a_header_that_comes_twice_counts_as_missing() -> None:
    assert read_headers([(b"A", b"1"), (b"a", b"2"), (b"B", b"3")]) == {"b": "3"}


@given(st.binary(max_size=200), st.text(max_size=40), st.sampled_from(
    ["hmac", "standard", "stripe", "github"]))  # fmt: skip
def test_nothing_by_chance_is_taken_and_nothing_breaks(
    body: bytes, text: str, scheme: Scheme
) -> None:
    names = ("x-sign", "webhook-id", "webhook-timestamp", "webhook-signature", "stripe-signature",
             "x-hub-signature-256")  # fmt: skip
    assert refused(scheme, dict.fromkeys(names, text), body, header="x-sign") == "signatureInvalid"


def test_a_long_name_of_a_delivery_is_kept_as_its_hash() -> None:
    body = json.dumps({"id": "x" * 1_000}).encode()
    assert len(WebhookSignature("stripe", [SECRET]).verify(striped(body), body, NOW)) == 64


@pytest.mark.parametrize(
    ("scheme", "secret", "message"),
    [
        ("standard", f"{SECRET}\r", "the secret of the webhook is not base64"),
        ("sent", SECRET[:20], "the receiver's secret is not base64 of 24 bytes or more"),
        ("discord", "03a107", "the public key of the webhook is not a key: expected 64 hex digits"),
        ("sendgrid", "MFkw", "the public key of the webhook is not a key: expected base64"),
    ],
)
def test_a_secret_that_its_scheme_cannot_use_is_rejected_without_being_repeated(
    scheme: Scheme, secret: str, message: str
) -> None:
    with pytest.raises(FlowError) as caught:
        check_secret(scheme, secret)
    assert caught.value.message.startswith(message)
    assert secret.strip() not in caught.value.message


@pytest.mark.parametrize("scheme", ["standard", "sent", "stripe", "github", "hmac", "slack"])
def test_a_secret_that_its_scheme_can_use_is_accepted(scheme: Scheme) -> None:
    check_secret(scheme, SECRET)
