"""The API on PostgreSQL with Litestar and asyncpg: its pool, SQL by hand, no middleware."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import asyncpg
from litestar import Litestar, get, post
from litestar.datastructures import State
from litestar.exceptions import NotFoundException

from tests.bench.apps.items import NewItem

_SELECT = "SELECT id, owner, title, quantity, done, created_at FROM items WHERE id = $1"
_INSERT = (
    "INSERT INTO items (owner, title, quantity, done, created_at) VALUES ($1, $2, $3, $4, $5)"
    " RETURNING id, owner, title, quantity, done, created_at"
)


def make_app(url: str) -> Litestar:
    """Return the application."""

    @asynccontextmanager
    async def connected(app: Litestar) -> AsyncIterator[None]:
        async with asyncpg.create_pool(url) as app.state.pool:
            yield

    @get("/api/items/{key:int}")
    async def item(state: State, key: int) -> dict[str, Any]:
        found = await state.pool.fetchrow(_SELECT, key)
        if found is None:
            raise NotFoundException
        return dict(found)

    @post("/api/items")
    async def add(state: State, data: NewItem) -> dict[str, Any]:
        given = ("nobody", data.title, data.quantity, False, datetime.now(UTC))
        return dict(await state.pool.fetchrow(_INSERT, *given))

    return Litestar([item, add], lifespan=[connected], openapi_config=None, logging_config=None)
