"""A database whose process ends behind one of its commits, as a crash at a bad moment does."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from bbops.base.host import Database, Parameters

Rows = list[tuple[Any, ...]]


class Crash(BaseException):
    """The process ends here."""


class CutDatabase:
    """Passes all on, and counts commits while it is watched.

    Attributes:
        door: the database itself.
        commits: how many there were.
        cut: the process ends behind so many; 0 for never.
    """

    def __init__(self, door: Database, cut: int = 0) -> None:
        self.door, self.cut = door, cut
        self.commits, self.is_watched, self._is_dead = 0, False, False
        self.read = self._alive(door.read)

    def revive(self) -> None:
        """Begin again as a process that is never cut."""
        self.cut, self._is_dead = 0, False

    def _alive(self, call: Any) -> Any:
        async def asked(*given: Any, **more: Any) -> Any:
            self._require_life()
            return await call(*given, **more)

        return asked

    def _require_life(self) -> None:
        if self._is_dead:
            raise Crash

    def _committed(self) -> None:
        if self.is_watched:
            self.commits += 1
            if self.commits == self.cut:
                self._is_dead = True
                raise Crash

    async def write(
        self, sql: str, parameters: Sequence[object] = (), *, at_most: int | None = None
    ) -> Rows:
        """As `Database.write`."""
        self._require_life()
        rows = await self.door.write(sql, parameters, at_most=at_most)
        self._committed()
        return rows

    async def change(self, sql: str, parameters: Sequence[object] = ()) -> int:
        """As `Database.change`."""
        self._require_life()
        count = await self.door.change(sql, parameters)
        self._committed()
        return count

    async def write_all(self, statements: Sequence[tuple[str, Parameters]]) -> list[Rows]:
        """As `Database.write_all`."""
        self._require_life()
        rows = await self.door.write_all(statements)
        self._committed()
        return rows

    async def rows(
        self, sql: str, parameters: Sequence[object] = (), *, writes: bool = False
    ) -> list[dict[str, Any]]:
        """As `Database.rows`."""
        self._require_life()
        rows = await self.door.rows(sql, parameters, writes=writes)
        if writes:
            self._committed()
        return rows

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[Database]:
        self._require_life()
        async with self.door.transaction() as inner:
            yield inner
        self._committed()

    def transaction(self) -> AbstractAsyncContextManager[Database]:
        """As `Database.transaction`."""
        return self._transaction()
