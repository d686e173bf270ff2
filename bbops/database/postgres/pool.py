"""Share a few connections: first come, first served, and without dead ones."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final

import asyncpg

from bbops.base.errors import DatabaseError
from bbops.database.postgres.connection import Connection
from bbops.database.postgres.violations import unreachable

_FIRST_WAIT_SECONDS: Final = 0.1
_LONGEST_WAIT_SECONDS: Final = 5.0
_MEND_SECONDS: Final = 5.0
_TROUBLE: Final = (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError)


class Pool:
    """At most `size` connections, opened as needed, for one event loop.

    A returned connection goes straight to the longest waiting caller. Nothing is reset between
    uses: our statements leave nothing on a connection.
    """

    def __init__(self, connect: Callable[[], Awaitable[Connection]], size: int) -> None:
        self._connect, self._size = connect, size
        self._idle: list[Connection] = []
        self._waiting: deque[asyncio.Future[Connection | None]] = deque()
        self._repairing: set[asyncio.Task[None]] = set()
        self._open = 0
        self._wait_seconds, self._down_until = 0.0, 0.0
        self._is_closed = False

    async def take(self) -> Connection:
        """Return a connection; return it with `give`, or with `repair` after a cancellation.

        Raises:
            Unavailable: the server cannot be reached; for a while, further calls fail at once.
            DatabaseError: the pool is closed.
        """
        if self._is_closed:
            raise DatabaseError("the database is closed")
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closed():
                return connection
            self._open -= 1
        if self._open < self._size:
            self._open += 1
            return await self._new()
        return await self._next() or await self._new()

    def give(self, connection: Connection) -> None:
        """Take a connection back in any state, except after a cancelled statement."""
        if self._is_closed or connection.is_closed():
            connection.terminate()
            self._leave_place()
            self._forget_idle()
        elif not self._hand_on(connection):
            self._idle.append(connection)

    def _forget_idle(self) -> None:
        """Drop idle connections: if one has died, the others may be dead as well."""
        while self._idle:
            self._idle.pop().terminate()
            self._leave_place()

    def repair(
        self, connection: Connection, undo: Callable[[], Awaitable[object]] | None = None
    ) -> None:
        """Take back a connection whose statement was cancelled, once the server has stopped it.

        Args:
            undo: ends the open transaction.
        """
        task = asyncio.ensure_future(self._repair(connection, undo))
        self._repairing.add(task)
        task.add_done_callback(self._repairing.discard)

    async def close(self) -> None:
        """Close idle connections at once, and the others as they are returned."""
        self._is_closed = True
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_exception(DatabaseError("the database is closed"))
        if self._repairing:
            await asyncio.wait(self._repairing)
        while self._idle:
            connection = self._idle.pop()
            try:
                await connection.close(timeout=1)
            except _TROUBLE:
                connection.terminate()

    async def _new(self) -> Connection:
        """Open a connection in a slot that is counted already."""
        loop = asyncio.get_running_loop()
        try:
            connection = await self._connect_again()
        except BaseException as error:
            self._leave_place()
            if not isinstance(error, _TROUBLE):
                raise
            self._wait_seconds = min(
                max(2 * self._wait_seconds, _FIRST_WAIT_SECONDS), _LONGEST_WAIT_SECONDS
            )
            self._down_until = loop.time() + self._wait_seconds
            raise unreachable() from None
        self._wait_seconds = 0.0
        return connection

    async def _connect_again(self) -> Connection:
        if asyncio.get_running_loop().time() < self._down_until:
            raise unreachable()
        return await self._connect()

    async def _next(self) -> Connection | None:
        """Wait for a connection, or for None, the slot of a closed one."""
        waiting: asyncio.Future[Connection | None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiting)
        try:
            return await waiting
        except asyncio.CancelledError:
            if waiting.done() and not waiting.cancelled() and waiting.exception() is None:
                found = waiting.result()
                self._leave_place() if found is None else self.give(found)
            raise

    def _leave_place(self) -> None:
        if not self._hand_on(None):
            self._open -= 1

    def _hand_on(self, found: Connection | None) -> bool:
        while self._waiting:
            waiting = self._waiting.popleft()
            if not waiting.done():
                waiting.set_result(found)
                return True
        return False

    async def _repair(
        self, connection: Connection, undo: Callable[[], Awaitable[object]] | None
    ) -> None:
        try:
            async with asyncio.timeout(_MEND_SECONDS):
                if undo is not None:
                    await undo()
                await _settle(connection)
        except _TROUBLE:
            connection.terminate()
        self.give(connection)


async def _settle(connection: Connection) -> None:
    """Wait until a cancellation has arrived, so that a late one hits this statement."""
    try:
        await connection.execute("SELECT 1")
    except asyncpg.QueryCanceledError:
        await connection.execute("SELECT 1")
