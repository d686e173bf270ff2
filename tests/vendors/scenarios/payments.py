"""payments, held against Stripe's library."""

from __future__ import annotations

from typing import Any

import stripe

from tests.vendors.scenario import CANARY, Scenario, Vendor
from tests.vendors.stand_in import Answer


def client(url: str) -> Any:
    return stripe.StripeClient(CANARY, base_addresses={"api": url}, max_network_retries=0).v1


CUSTOMER = {"id": "cus_1", "email": "a@b.c", "name": "Ada & Söhne"}
PAYMENT = {
    "id": "pi_1", "status": "succeeded", "amount": 1999, "currency": "eur", "customer": "cus_1",
    "client_secret": "pi_1_secret_x",
}  # fmt: skip
REFUND = {"id": "re_1", "status": "pending", "amount": 5, "currency": "eur", "charge": "ch_1"}
SUBSCRIPTION = {
    "id": "sub_1", "status": "active", "customer": "cus_1", "latest_invoice": None, "items": None,
}  # fmt: skip

VENDOR = Vendor(
    "payments",
    "secretKey: ${ env.PAYMENTS_KEY }\nendpoint: URL",
    {"PAYMENTS_KEY": CANARY},
    (
        Scenario(
            "payments.createCustomer: { email: a@b.c, name: 'Ada & Söhne', metadata: { t: u 1 } }",
            lambda url: client(url).customers.create(
                {"email": "a@b.c", "name": "Ada & Söhne", "metadata": {"t": "u 1"}}
            ),
            Answer(body=CUSTOMER | {"object": "customer", "livemode": False}),
            CUSTOMER,
        ),
        Scenario(
            "payments.createPaymentIntent: { amount: 1999, currency: eur, customerId: cus_1 }",
            lambda url: client(url).payment_intents.create(
                {"amount": 1999, "currency": "eur", "customer": "cus_1"}
            ),
            Answer(body=PAYMENT),
            PAYMENT,
        ),
        Scenario(
            "payments.createSubscription: { customerId: cus_1, priceId: price_1 }",
            lambda url: client(url).subscriptions.create(
                {"customer": "cus_1", "items": [{"price": "price_1"}]}
            ),
            Answer(body={"id": "sub_1", "status": "active", "customer": "cus_1"}),
            SUBSCRIPTION,
        ),
        Scenario(
            "payments.createRefund: { chargeId: ch_1, amount: 5 }",
            lambda url: client(url).refunds.create({"charge": "ch_1", "amount": 5}),
            Answer(body=REFUND),
            REFUND,
        ),
    ),
    headers=("authorization", "stripe-version"),
    own=("idempotency-key",),
    refusal={"error": {"type": "card_error", "code": "card_declined", "message": "Declined."}},
    words="Declined.",
    reason="card_declined",
    offline=("verifyWebhookSignature",),
)
