"""Show other servers that a worker is alive: as long as its connection holds a lock."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bbops.database.postgres.connection import connect
from bbops.database.postgres.work import OWNER_LOCK
from bbops.database.schema.place import PostgresPlace


@asynccontextmanager
async def alive(place: PostgresPlace, owner: str) -> AsyncIterator[asyncio.Event]:
    """Hold the lock of a worker: others notice its end, even a kill, at their next look.

    Yields an event that is set when the connection is lost: others take the worker's jobs then, and
    the worker must stop.
    """
    connection, lost = await connect(place), asyncio.Event()
    connection.add_termination_listener(lambda _: lost.set())
    try:
        await connection.fetch(f"SELECT pg_advisory_lock({OWNER_LOCK.format('$1::text')})", owner)
        yield lost
    finally:
        await connection.close()
