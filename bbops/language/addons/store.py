"""store: products, orders and stock of an online store."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from bbops.base.model import Model
from bbops.language.addons._base import AddonAction, AddonKind, Secret, Setting, may, need
from bbops.language.expressions.types import ANY, INTEGER, TEXT, list_of, map_of

_PRODUCT = map_of(
    {
        "id": INTEGER, "title": TEXT, "body_html": TEXT.or_null(), "vendor": TEXT.or_null(),
        "product_type": TEXT.or_null(), "status": TEXT, "handle": TEXT, "variants": ANY,
        "images": ANY, "created_at": TEXT,
    },
    "the product",
)  # fmt: skip


class Config(Model):
    """The store, and how it is administered. `endpoint` is for a stand-in.

    - Apps that were made before 2026 have an `accessToken` that lasts.
    - Newer ones have `clientId` and `clientSecret`, for which the store gives tokens of 24 hours.
      With both, `accessToken` counts.
    """

    store_domain: Setting = Field(
        description="The domain of the store, such as `example.myshopify.com`."
    )
    access_token: Secret | None = Field(
        default=None, description="The lasting access token of a Shopify app made before 2026."
    )
    client_id: Setting | None = Field(default=None, description="The client id of a Shopify app.")
    client_secret: Secret | None = Field(default=None, description="The client secret of that app.")
    endpoint: Setting | None = Field(
        default=None, description="The address of a stand-in for Shopify, for tests."
    )

    @model_validator(mode="after")
    def check_token(self) -> Self:
        """Refuse a store without credentials, and half of a pair of them."""
        has_id, has_secret = self.client_id is not None, self.client_secret is not None
        if has_id is has_secret and (has_id or self.access_token is not None):
            return self
        message = "expected 'accessToken', or 'clientId' with 'clientSecret'"
        raise PydanticCustomError("one_of", message, {"key": "", "hint": ""})


_PER_SECOND = 2.0
"""Requests that the vendor accepts for one store; others wait, 20 s at most."""

ADDON = AddonKind(
    "Store",
    "Products, orders and stock of an online store.",
    Config,
    {
        "getProducts": AddonAction(
            "Get Products",
            "List products.",
            (
                may("limit", "integer", "50 if left out", limits=(1, 250)),
                may("collection", "text", "Only products of this collection"),
                may("status", "text", options=("active", "draft", "archived")),
            ),
            list_of(_PRODUCT),
            "- store.getProducts: { limit: 10, status: active }\n"
            "  as: products\n"
            "- return:\n"
            "    value: ${ vars.products | pluck('title') }",
            repeat="safe",
            per_second=_PER_SECOND,
            writes=False,
        ),
        "getOrder": AddonAction(
            "Get Order",
            "Read an order; an unknown one throws 404.",
            (need("orderId", "text integer"),),
            map_of(
                {
                    "id": INTEGER,
                    "name": TEXT,
                    "email": TEXT.or_null(),
                    "currency": TEXT,
                    "total_price": TEXT,
                    "financial_status": TEXT.or_null(),
                    "fulfillment_status": TEXT.or_null(),
                    "customer": ANY,
                    "line_items": ANY,
                    "created_at": TEXT,
                },
                "the order",
            ),
            "- store.getOrder: { orderId: 450789469 }\n"
            "  as: order\n"
            "- return:\n"
            "    value: ${ vars.order.total_price }",
            repeat="safe",
            per_second=_PER_SECOND,
            writes=False,
        ),
        "updateInventory": AddonAction(
            "Update Inventory",
            "Change how many there are at a location.",
            (
                need("inventoryItemId", "text integer"),
                need("locationId", "text integer"),
                need("adjustment", "integer", "Above zero adds, below removes"),
            ),
            map_of(
                {
                    "inventory_item_id": INTEGER,
                    "location_id": INTEGER,
                    "available": INTEGER.or_null(),
                },
                "the stock",
            ),
            "- store.updateInventory: { inventoryItemId: 1, locationId: 2, adjustment: -3 }",
            per_second=_PER_SECOND,
        ),
        "createProduct": AddonAction(
            "Create Product",
            "Make a product.",
            (
                need("title"),
                may("description", "text", "HTML; text from expressions is escaped", is_html=True),
                may("vendor"),
                may("productType"),
                may("variants", "list"),
            ),
            _PRODUCT,
            "- store.createProduct: { title: Cup, vendor: Acme }\n"
            "  as: product\n"
            "- return:\n"
            "    value: ${ vars.product.id }",
            per_second=_PER_SECOND,
        ),
    },
    config_example="storeDomain: acme.example.com\naccessToken: ${ env.STORE_TOKEN }",
    address="storeDomain",
    scopes=("read_products", "write_products", "read_orders", "write_inventory"),
    service="Shopify",
    key_source="https://dev.shopify.com/dashboard, in the settings of the app",
)
