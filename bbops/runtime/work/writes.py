"""A database whose rows somebody listens to: each write wakes whoever runs jobs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from bbops.base.host import Database, Parameters

Rows = list[tuple[Any, ...]]


def unheard(database: Any) -> Any:
    """Return the database itself, for what is no change of a project's rows."""
    return database.door if isinstance(database, HeardDatabase) else database


class HeardDatabase:
    """Passes all on. A read costs nothing more, a write what it takes to wake.

    Attributes:
        door: the database itself.
    """

    def __init__(self, door: Database, wake: Callable[[], None]) -> None:
        self.door, self._wake = door, wake
        self.read = door.read

    async def write(
        self, sql: str, parameters: Sequence[object] = (), *, at_most: int | None = None
    ) -> Rows:
        """As `Database.write`."""
        rows = await self.door.write(sql, parameters, at_most=at_most)
        self._wake()
        return rows

    async def change(self, sql: str, parameters: Sequence[object] = ()) -> int:
        """As `Database.change`."""
        count = await self.door.change(sql, parameters)
        self._wake()
        return count

    async def write_all(self, statements: Sequence[tuple[str, Parameters]]) -> list[Rows]:
        """As `Database.write_all`."""
        rows = await self.door.write_all(statements)
        self._wake()
        return rows

    async def rows(
        self, sql: str, parameters: Sequence[object] = (), *, writes: bool = False
    ) -> list[dict[str, Any]]:
        """As `Database.rows`."""
        rows = await self.door.rows(sql, parameters, writes=writes)
        if writes:
            self._wake()
        return rows

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[Database]:
        async with self.door.transaction() as inner:
            yield inner
        self._wake()

    def transaction(self) -> AbstractAsyncContextManager[Database]:
        """As `Database.transaction`."""
        return self._transaction()
