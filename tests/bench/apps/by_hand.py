"""The API as a person writes it with Litestar: typed handlers, no middleware."""

from __future__ import annotations

from typing import Any

from litestar import Litestar, get, post
from litestar.exceptions import NotFoundException

from tests.bench.apps.items import HELLO, Items, NewItem


def make_app(items: Items) -> Litestar:
    """Return the application."""

    @get("/api/hello")
    async def hello() -> dict[str, Any]:
        return HELLO

    @get("/api/items/{key:int}")
    async def item(key: int) -> dict[str, Any]:
        found = items.find(key)
        if found is None:
            raise NotFoundException
        return found

    @post("/api/items")
    async def add(data: NewItem) -> dict[str, Any]:
        return items.add("nobody", data)

    return Litestar([hello, item, add], openapi_config=None, logging_config=None)
