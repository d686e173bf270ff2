"""payments: customers, payments, subscriptions and their webhooks."""

from __future__ import annotations

from pydantic import Field

from bbops.base.model import Model
from bbops.language.addons._base import AddonAction, AddonKind, Secret, Setting, may, need
from bbops.language.expressions.types import ANY, BOOLEAN, INTEGER, TEXT, map_of


class Config(Model):
    """The signing secret is needed for webhooks only.

    `endpoint` is for a stand-in with the same protocol.
    """

    secret_key: Secret = Field(
        description="A secret or restricted key of Stripe, for tests or live."
    )
    webhook_signing_secret: Secret | None = Field(
        default=None,
        description="The signing secret of a webhook of Stripe, `whsec_…`.",
    )
    endpoint: Setting | None = Field(
        default=None, description="The address of a stand-in for Stripe, for tests."
    )


ADDON = AddonKind(
    "Payments",
    "Customers, payments, subscriptions and their webhooks.",
    Config,
    {
        "createPaymentIntent": AddonAction(
            "Create Payment Intent",
            "Begin a payment; `client_secret` is for the client.",
            (
                need(
                    "amount",
                    "integer",
                    "In the smallest unit of the currency",
                    limits=(1, 99_999_999),
                ),
                need("currency", "text", "Three letters, lower case"),
                may("customerId"),
                may("description"),
            ),
            map_of(
                {
                    "id": TEXT,
                    "status": TEXT,
                    "amount": INTEGER,
                    "currency": TEXT,
                    "customer": TEXT.or_null(),
                    "client_secret": TEXT.or_null(),
                },
                "the payment",
            ),
            "- payments.createPaymentIntent: { amount: 1999, currency: eur }\n"
            "  as: payment\n"
            "- return:\n"
            "    value: ${ vars.payment.client_secret }",
            repeat="key",
        ),
        "createCustomer": AddonAction(
            "Create Customer",
            "Make a customer.",
            (
                may("email"),
                may("name"),
                may("metadata", "map", "Texts by name"),
            ),
            map_of({"id": TEXT, "email": TEXT.or_null(), "name": TEXT.or_null()}, "the customer"),
            "- payments.createCustomer: { email: ada@example.com, name: Ada }\n"
            "  as: customer\n"
            "- return:\n"
            "    value: ${ vars.customer.id }",
            repeat="key",
        ),
        "createSubscription": AddonAction(
            "Create Subscription",
            "Subscribe a customer to a price.",
            (
                need("customerId"),
                need("priceId"),
            ),
            map_of(
                {"id": TEXT, "status": TEXT, "customer": TEXT, "latest_invoice": ANY, "items": ANY},
                "the subscription",
            ),
            "- payments.createSubscription: { customerId: cus_1, priceId: price_1 }\n"
            "  as: subscription\n"
            "- return:\n"
            "    value: ${ vars.subscription.status }",
            repeat="key",
        ),
        "createRefund": AddonAction(
            "Create Refund",
            "Give a payment back.",
            (
                need("chargeId"),
                may(
                    "amount",
                    "integer",
                    "In the smallest unit; all of it if left out",
                    limits=(1, 99_999_999),
                ),
            ),
            map_of(
                {
                    "id": TEXT,
                    "status": TEXT.or_null(),
                    "amount": INTEGER,
                    "currency": TEXT,
                    "charge": TEXT.or_null(),
                },
                "the refund",
            ),
            "- payments.createRefund: { chargeId: ch_1, amount: 500 }",
            repeat="key",
        ),
        "verifyWebhookSignature": AddonAction(
            "Verify Webhook Signature",
            "Check that an event comes from the provider, and read it; another one throws 400.",
            (
                may("payload", "text", "The raw body of the request if left out", is_body=True),
                need("signature", "text", "The header that the provider sends", nullable=True),
                may(
                    "tolerance",
                    "integer",
                    "Seconds that it may be old, 300 if left out",
                    limits=(1, 86_400),
                ),
            ),
            map_of(
                {"id": TEXT, "type": TEXT, "created": INTEGER, "livemode": BOOLEAN, "data": ANY},
                "the event",
            ),
            "- payments.verifyWebhookSignature:\n"
            "    signature: ${ headers['stripe-signature'] }\n"
            "  as: event\n"
            "- return:\n"
            "    value: ${ vars.event.type }",
            repeat="safe",
            writes=False,
            answers=frozenset({400}),
        ),
    },
    config_example="secretKey: ${ env.PAYMENTS_SECRET_KEY }\n"
    "webhookSigningSecret: ${ env.PAYMENTS_WEBHOOK_SECRET }",
    hosts=("api.stripe.com",),
    service="Stripe",
    key_source="https://dashboard.stripe.com/apikeys",
)
