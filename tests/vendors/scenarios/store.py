"""store, held against ShopifyAPI."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.vendors.scenario import CANARY, Scenario, Vendor
from tests.vendors.stand_in import Answer

PRODUCT = {
    "id": 1, "title": "T", "body_html": "<b>", "vendor": "v", "product_type": "p",
    "status": "active", "handle": "t", "variants": [{"price": "1.0"}], "images": [],
    "created_at": "2026-01-02T03:04:05Z",
}  # fmt: skip
ORDER = {
    "id": 450789469, "name": "#1001", "email": None, "currency": "EUR", "total_price": "9.90",
    "financial_status": "paid", "fulfillment_status": None, "customer": {}, "line_items": [],
    "created_at": "2026-01-02T03:04:05Z",
}  # fmt: skip
STOCK = {"inventory_item_id": 1, "location_id": 2, "available": 7}


def asking(request: Callable[[Any], object]) -> Callable[[str], object]:
    """Return what asks the library, which talks to an address."""

    def ask(url: str) -> object:
        import shopify  # noqa: PLC0415 - of the extra 'vendors'

        shopify.ShopifyResource.set_site(f"{url}/admin/api/2026-07")
        shopify.ShopifyResource.headers = {"X-Shopify-Access-Token": CANARY}
        return request(shopify)

    return ask


def create(shopify: Any) -> object:
    given = {"title": "T", "body_html": "<b>", "vendor": "v", "product_type": "p",
             "variants": [{"price": "1.0"}]}  # fmt: skip
    return shopify.Product(given).save()


VENDOR = Vendor(
    "store",
    "storeDomain: acme.myshopify.com\naccessToken: ${ env.STORE_TOKEN }\nendpoint: URL",
    {"STORE_TOKEN": CANARY},
    (
        Scenario(
            "store.getProducts: { status: active, collection: '1' }",
            asking(lambda of: of.Product.find(limit=50, status="active", collection_id=1)),
            Answer(body={"products": [PRODUCT]}), [PRODUCT],
        ),
        Scenario(
            "store.getOrder: { orderId: 450789469 }",
            asking(lambda of: of.Order.find(450789469)), Answer(body={"order": ORDER}), ORDER,
        ),
        Scenario(
            "store.updateInventory: { inventoryItemId: '1', locationId: 2, adjustment: -3 }",
            asking(lambda of: of.InventoryLevel.adjust(2, 1, -3)),
            Answer(body={"inventory_level": STOCK}), STOCK,
        ),
        Scenario(
            "store.createProduct: { title: T, description: <b>, vendor: v, productType: p,"
            " variants: [{ price: '1.0' }] }",
            asking(create), Answer(201, {"product": PRODUCT}), PRODUCT,
        ),
    ),
    headers=("x-shopify-access-token",),
    refusal={"errors": {"title": ["can't be blank"]}},
    words="title can't be blank",
    reason="title",
)  # fmt: skip
