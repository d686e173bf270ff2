"""payments, in the shapes of Stripe's API: forms in, JSON out."""

from __future__ import annotations

import hmac
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote, urlencode

import msgspec

from bbops.base.host import HttpResponse
from bbops.runtime.values.failures import FlowError, Thrown
from bbops.runtime.values.outside import Refusal
from bbops.runtime.vendors._work import AddonFailure, Work, read_answer

_ADDRESS: Final = "https://api.stripe.com"
_VERSION: Final = "2026-10-28.endive"
_TOLERANCE_SECONDS: Final = 300


async def create_payment_intent(work: Work, given: Mapping[str, Any]) -> Any:
    """Begin a payment."""
    return await _post(work, "payment_intents", {
        "amount": given["amount"], "currency": given["currency"],
        "customer": given.get("customerId"), "description": given.get("description"),
    })  # fmt: skip


async def create_customer(work: Work, given: Mapping[str, Any]) -> Any:
    """Make a customer."""
    return await _post(work, "customers", given)


async def create_subscription(work: Work, given: Mapping[str, Any]) -> Any:
    """Subscribe a customer to a price."""
    found = await _post(
        work, "subscriptions",
        {"customer": given["customerId"], "items": [{"price": given["priceId"]}]},
    )  # fmt: skip
    if not isinstance(found, dict):
        raise AddonFailure("addon-answer", "the vendor returned no subscription")
    return {"latest_invoice": None, "items": None} | found


async def create_refund(work: Work, given: Mapping[str, Any]) -> Any:
    """Give a payment back."""
    form = {"charge": given["chargeId"], "amount": given.get("amount")}
    return await _post(work, "refunds", form)


async def verify_webhook_signature(work: Work, given: Mapping[str, Any]) -> Any:
    """Return an event that the provider has signed.

    Raises:
        Thrown: 400, where its signature is missing, wrong or too old.
    """
    payload, header = given.get("payload"), given.get("signature")
    if payload is None:
        raise FlowError("'payload' is required here: there is no request whose body could be used")
    secret = work.setting("webhookSigningSecret")
    tolerance = given.get("tolerance", _TOLERANCE_SECONDS)
    now = work.host.clock.now().timestamp()
    if not _is_signed(payload.encode(), header, secret, now, tolerance):
        raise Thrown(400, "the signature of this event is missing, wrong or too old")
    try:
        return msgspec.json.decode(payload)
    except msgspec.DecodeError:
        raise Thrown(400, "the event is not valid JSON") from None


def _is_signed(payload: bytes, header: Any, secret: str, now: float, tolerance: int) -> bool:
    pairs = [part.partition("=") for part in str(header or "")[:2_000].split(",")]
    moments = [text for name, _, text in pairs if name.strip() == "t"]
    if len(moments) != 1 or not (moments[0].isascii() and moments[0].isdigit()):
        return False
    if abs(now - int(moments[0])) > tolerance:
        return False
    right = hmac.new(secret.encode(), moments[0].encode() + b"." + payload, "sha256").hexdigest()
    signatures = [text for name, _, text in pairs if name.strip() == "v1"]
    return any(hmac.compare_digest(one.encode(), right.encode()) for one in signatures)


async def _post(work: Work, path: str, values: Mapping[str, Any]) -> Any:
    url = f"{work.address(_ADDRESS)}/v1/{path}"
    headers = {
        "authorization": f"Bearer {work.setting('secretKey')}",
        "content-type": "application/x-www-form-urlencoded",
        "idempotency-key": work.key,
        "stripe-version": _VERSION,
    }
    body = urlencode(list(_pairs(values)), quote_via=quote).encode()
    return read_answer(url, await work.accept("POST", url, headers, body, refusal=_refusal))


def _refusal(_: HttpResponse, found: Any) -> Refusal:
    error = found.get("error") if isinstance(found, dict) else None
    if not isinstance(error, dict):
        return Refusal()
    return Refusal(error.get("message"), error.get("code") or error.get("type"))


def _pairs(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield a value as fields of a form: `items[0][price]`; null is left out."""
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from _pairs(one, f"{name}[{key}]" if name else str(key))
    elif isinstance(value, list):
        for at, one in enumerate(value):
            yield from _pairs(one, f"{name}[{at}]")
    elif value is not None:
        yield name, str(value).lower() if isinstance(value, bool) else str(value)


async def probe(work: Work) -> str:
    """Return whether the key is of the live account or for tests."""
    url = f"{work.address(_ADDRESS)}/v1/balance"
    headers = {
        "authorization": f"Bearer {work.setting('secretKey')}", "stripe-version": _VERSION,
    }  # fmt: skip
    found = await work.ask("GET", url, headers, refusal=_refusal)
    is_live = isinstance(found, dict) and found.get("livemode") is True
    return "the live account" if is_live else "the account for tests"


STEPS: Final = {
    "createPaymentIntent": create_payment_intent,
    "createCustomer": create_customer,
    "createSubscription": create_subscription,
    "createRefund": create_refund,
    "verifyWebhookSignature": verify_webhook_signature,
}
PROBE: Final = probe
