"""Show other servers that a worker lives: as long as its connection holds a lock."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bbops.database.postgres.connection import connect
from bbops.database.postgres.work import OWNER_LOCK
from bbops.database.schema.place import PostgresPlace


@asynccontextmanager
async def alive(place: PostgresPlace, owner: str) -> AsyncIterator[asyncio.Event]:
    """Hold the lock of a worker: others see its end at their next look, even that of a kill.

    Gives an event that is set once the connection is lost: others take the worker's jobs then, and
    it has to end.
    """
    connection, lost = await connect(place), asyncio.Event()
    connection.add_termination_listener(lambda _: lost.set())
    try:
        await connection.fetch(f"SELECT pg_advisory_lock({OWNER_LOCK.format('$1::text')})", owner)
        yield lost
    finally:
        await connection.close()
