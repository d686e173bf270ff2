"""store, in the shapes of Shopify's REST Admin API of 2026-07: two requests a second."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode

from msgspec import UNSET

from bbops.base.host import HttpResponse
from bbops.runtime.values.failures import FlowError, HttpFailure
from bbops.runtime.values.outside import Refusal
from bbops.runtime.vendors._credentials import forget_token, get_token
from bbops.runtime.vendors._parts import pick, text_at
from bbops.runtime.vendors._work import AddonFailure, Work

_VERSION: Final = "2026-07"
_LIMIT: Final = 50
_DOMAIN: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,62}(\.[a-z0-9-]{1,63}){1,8}").fullmatch
_ID: Final = re.compile(r"[0-9]{1,20}").fullmatch


async def get_products(work: Work, given: Mapping[str, Any]) -> Any:
    """List products."""
    query = {"limit": given.get("limit", _LIMIT)}
    query |= pick(given, "status", collection="collection_id")
    return await _ask(work, "GET", f"products.json?{urlencode(query)}", "products")


async def get_order(work: Work, given: Mapping[str, Any]) -> Any:
    """Read an order; those older than 60 days need the scope `read_all_orders`."""
    return await _ask(work, "GET", f"orders/{_number(given, 'orderId')}.json", "order")


async def update_inventory(work: Work, given: Mapping[str, Any]) -> Any:
    """Change how many there are at a location."""
    body = {
        "inventory_item_id": _number(given, "inventoryItemId"),
        "location_id": _number(given, "locationId"), "available_adjustment": given["adjustment"],
    }  # fmt: skip
    return await _ask(work, "POST", "inventory_levels/adjust.json", "inventory_level", body)


async def create_product(work: Work, given: Mapping[str, Any]) -> Any:
    """Make a product."""
    product = pick(
        given, "title", "vendor", "variants", description="body_html", productType="product_type"
    )  # fmt: skip
    return await _ask(work, "POST", "products.json", "product", {"product": product})


def _number(given: Mapping[str, Any], name: str) -> int:
    text = str(given[name])
    if not _ID(text):
        raise FlowError(f"'{name}' must be a number")
    return int(text)


async def _ask(work: Work, method: str, path: str, part: str, body: Any = UNSET) -> Any:
    """Return the part of an answer that holds what was asked for."""
    domain = work.setting("storeDomain")
    if not _DOMAIN(domain):
        raise FlowError("'storeDomain' must be a name such as acme.myshopify.com")
    base = work.address(f"https://{domain}")
    url, lasting = f"{base}/admin/api/{_VERSION}/{path}", work.config.get("accessToken")
    if lasting:
        found = await _send(work, method, url, lasting, body)
    else:
        found = await _ask_as_app(work, method, url, body, f"{base}/admin/oauth/access_token")
    if not isinstance(found, dict) or part not in found:
        raise AddonFailure("addon-answer", f"the vendor's answer has no '{part}'")
    return found[part]


async def _send(work: Work, method: str, url: str, token: str, body: Any) -> Any:
    headers = {"x-shopify-access-token": token, "accept": "application/json"}
    return await work.ask(method, url, headers, body, refusal=_refusal)


async def _ask_as_app(work: Work, method: str, url: str, body: Any, giver: str) -> Any:
    """Ask with a token of 24 hours; one that is refused has ended early, and did nothing."""
    form = {
        "grant_type": "client_credentials", "client_id": work.setting("clientId"),
        "client_secret": work.setting("clientSecret"),
    }  # fmt: skip
    token = await get_token(work, giver, form, _refusal)
    try:
        return await _send(work, method, url, token, body)
    except HttpFailure as failure:
        if failure.answered != 401:
            raise
    forget_token(giver, form, token)
    return await _send(work, method, url, await get_token(work, giver, form, _refusal), body)


def _refusal(_: HttpResponse, found: Any) -> Refusal:
    """Its errors are a text, or a map of lists of texts by field."""
    said = text_at(found, "errors") or text_at(found, "error_description")
    fields = found.get("errors") if isinstance(found, dict) else None
    if not isinstance(fields, dict) or not fields:
        return Refusal(said)
    name, texts = next(iter(fields.items()))
    words = texts[0] if isinstance(texts, list) and texts else texts
    return Refusal(f"{name} {words}", str(name))


async def probe(work: Work) -> str:
    """Return what the shop is called."""
    return text_at(await _ask(work, "GET", "shop.json", "shop"), "name") or ""


STEPS: Final = {
    "getProducts": get_products,
    "getOrder": get_order,
    "updateInventory": update_inventory,
    "createProduct": create_product,
}
PROBE: Final = probe
