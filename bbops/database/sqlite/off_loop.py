"""Run reads in threads, each on a connection of its own, and end slow ones."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Final, TypeVar

from bbops.database.sqlite.author_sql import AuthorGuard, restrict
from bbops.database.sqlite.connection import connect
from bbops.database.sqlite.violations import ERRORS, failure_of
from bbops.database.sqlite.watch import Watch
from bbops.runtime.values.failures import FlowError

T = TypeVar("T")
Take = Callable[[sqlite3.Cursor], T]
_THREADS: Final = 4


class OffLoop:
    """Threads for reads of one kind, started as needed. `is_own`: authors' statements.

    A statement that hangs in a single operation of SQLite blocks only its own thread.
    """

    def __init__(self, path: Path, loop: asyncio.AbstractEventLoop, *, is_own: bool) -> None:
        self._path, self._loop, self._is_own = path, loop, is_own
        self._threads = ThreadPoolExecutor(_THREADS, "bbops-own-read" if is_own else "bbops-read")
        self._idle: list[tuple[sqlite3.Connection, AuthorGuard | None]] = []

    async def read(self, sql: str, parameters: Sequence[object], take: Take[T]) -> T:
        """Return the result of `take` on a statement's cursor.

        Raises:
            StatementTimeout: it took longer than LONGEST_STATEMENT_SECONDS.
            FlowError: it writes, is invalid, or uses a forbidden name.
            DatabaseError: the file cannot be read.
        """
        watch = Watch(self._loop)

        def work() -> T:
            return self._read(watch, sql, parameters, take)

        with watch.wait():
            return await self._loop.run_in_executor(self._threads, work)

    def close(self) -> None:
        """Wait for running reads, then close. Blocks."""
        self._threads.shutdown()
        while self._idle:
            self._idle.pop()[0].close()

    def _read(self, watch: Watch, sql: str, parameters: Sequence[object], take: Take[T]) -> T:
        connection, guard = self._idle.pop() if self._idle else self._open()
        try:
            with watch.on(connection), closing(connection.execute(sql, parameters)) as cursor:
                return take(cursor)
        except ERRORS as error:
            if guard is not None and guard.refused:
                raise FlowError(f"the statement failed: {guard.refused}") from None
            raise reading_failure(error, connection, sql) from None
        finally:
            if guard is not None:
                guard.refused = ""
            self._idle.append((connection, guard))

    def _open(self) -> tuple[sqlite3.Connection, AuthorGuard | None]:
        connection = connect(self._path, reads=True, bounded=True)
        return connection, restrict(connection) if self._is_own else None


def reading_failure(error: Exception, connection: sqlite3.Connection, sql: str) -> Exception:
    """Return the failure for the error of a statement that should read."""
    if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_READONLY:
        return FlowError("the statement writes, expected one that reads")
    return failure_of(error, connection, sql)
