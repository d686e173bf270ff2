"""Show other servers that a worker lives: as long as its connection holds a lock."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bbops.database.postgres.connection import connect
from bbops.database.postgres.work import OWNER_LOCK
from bbops.database.schema.place import PostgresPlace


@asynccontextmanager
async def alive(place: PostgresPlace, owner: str) -> AsyncIterator[None]:
    """Hold the lock of a worker; its end is seen at the next look, even that of a kill."""
    connection = await connect(place)
    try:
        await connection.fetch(f"SELECT pg_advisory_lock({OWNER_LOCK.format('$1::text')})", owner)
        yield
    finally:
        await connection.close()
