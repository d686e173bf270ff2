"""A database whose rows somebody listens to: each write wakes whoever runs jobs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final

from bbops.base.host import Database, Parameters

Rows = list[tuple[Any, ...]]
_MOST_KNOWN: Final = 4_096


def unheard(database: Any) -> Any:
    """Return the database itself, for what is no change of a project's rows."""
    return database.door if isinstance(database, HeardDatabase) else database


class HeardDatabase:
    """Passes all on. A read costs nothing more, a write of a heard table what it takes to wake.

    Whoever runs jobs looks by itself each second, so a wake that is missed costs no more than that.

    Attributes:
        door: the database itself.
    """

    def __init__(self, door: Database, wake: Callable[[], None], tables: Collection[str]) -> None:
        """Args: `tables`: those whose rows somebody listens to."""
        self.door, self._wake, self._tables = door, wake, tables
        self._concerned = dict[str, bool]()
        self.read = door.read

    def _concerns(self, sql: str) -> bool:
        concerned = self._concerned.get(sql)
        if concerned is None:
            if len(self._concerned) >= _MOST_KNOWN:
                self._concerned.clear()
            concerned = self._concerned[sql] = self._may_concern(sql)
        return concerned

    def _may_concern(self, sql: str) -> bool:
        """Return whether a statement names a heard table; one that deletes may cascade into it."""
        text = sql.lower()
        is_plain = text.startswith(("insert", "update"))
        return not is_plain or any(table.lower() in text for table in self._tables)

    async def write(
        self, sql: str, parameters: Sequence[object] = (), *, at_most: int | None = None
    ) -> Rows:
        """As `Database.write`."""
        rows = await self.door.write(sql, parameters, at_most=at_most)
        if self._concerns(sql):
            self._wake()
        return rows

    async def change(self, sql: str, parameters: Sequence[object] = ()) -> int:
        """As `Database.change`."""
        count = await self.door.change(sql, parameters)
        if self._concerns(sql):
            self._wake()
        return count

    async def write_all(self, statements: Sequence[tuple[str, Parameters]]) -> list[Rows]:
        """As `Database.write_all`."""
        rows = await self.door.write_all(statements)
        if any(self._concerns(sql) for sql, _ in statements):
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
