"""Run reads in threads, each on a connection of its own, and end those that take too long."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Final, TypeVar

from bbops.database.sqlite.author_sql import Guard, restrict
from bbops.database.sqlite.connection import connect
from bbops.database.sqlite.limits import LONGEST_STATEMENT_SECONDS, OPERATIONS_PER_LOOK, Deadline
from bbops.database.sqlite.violations import ERRORS, failure_of
from bbops.runtime.values.failures import FlowError

T = TypeVar("T")
Take = Callable[[sqlite3.Cursor], T]
_THREADS: Final = 4
_LATER_SECONDS: Final = 0.25
"""How much later the loop interrupts what does not look at the clock by itself."""


class OffLoop:
    """Threads for reads of one kind, started as they are needed. `is_own`: authors' statements.

    A statement that hangs in a single operation of SQLite keeps its thread, and nobody else's.
    """

    def __init__(self, path: Path, loop: asyncio.AbstractEventLoop, *, is_own: bool) -> None:
        self._path, self._loop, self._is_own = path, loop, is_own
        self._threads = ThreadPoolExecutor(_THREADS, "bbops-own-read" if is_own else "bbops-read")
        self._idle: list[tuple[sqlite3.Connection, Guard | None]] = []

    async def read(self, sql: str, parameters: Sequence[object], take: Take[T]) -> T:
        """Return what `take` makes of a statement's cursor.

        Raises:
            StatementTimeout: it took longer than LONGEST_STATEMENT_SECONDS.
            FlowError: it writes, is wrong, or names what it may not.
            DatabaseError: the file cannot be read.
        """
        call = _Call(self._loop)

        def work() -> T:
            return self._read(call, sql, parameters, take)

        try:
            return await self._loop.run_in_executor(self._threads, work)
        except asyncio.CancelledError:
            call.abandon()
            raise
        finally:
            call.timer.cancel()

    def close(self) -> None:
        """Wait for the reads under way, then close. Blocks."""
        self._threads.shutdown()
        while self._idle:
            self._idle.pop()[0].close()

    def _read(self, call: _Call, sql: str, parameters: Sequence[object], take: Take[T]) -> T:
        connection, guard = self._idle.pop() if self._idle else self._open()
        try:
            with call.on(connection):
                return take(connection.execute(sql, parameters))
        except ERRORS as error:
            if guard is not None and guard.refused:
                raise FlowError(f"the statement failed: {guard.refused}") from None
            raise reading_failure(error, connection, sql) from None
        finally:
            if guard is not None:
                guard.refused = ""
            self._idle.append((connection, guard))

    def _open(self) -> tuple[sqlite3.Connection, Guard | None]:
        connection = connect(self._path, reads=True, bounded=True)
        return connection, restrict(connection) if self._is_own else None


class _Call:
    """One statement under way: its deadline looks at the clock, and the loop at the deadline."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.deadline = Deadline(LONGEST_STATEMENT_SECONDS)
        self._loop, self._lock = loop, Lock()
        self._connection: sqlite3.Connection | None = None
        self._until = 0.0
        self._wait(LONGEST_STATEMENT_SECONDS)

    @contextmanager
    def on(self, connection: sqlite3.Connection) -> Iterator[None]:
        """Run on this connection what the block does."""
        self.deadline.begin()
        connection.set_progress_handler(self.deadline, OPERATIONS_PER_LOOK)
        with self._lock:
            self._connection = connection
            self._until = self._loop.time() + LONGEST_STATEMENT_SECONDS
        try:
            yield
        finally:
            with self._lock:
                self._connection = None

    def abandon(self) -> None:
        """End it: nobody waits any more."""
        self.deadline.is_abandoned = True
        self._interrupt()

    def _wait(self, seconds: float) -> None:
        self.timer = self._loop.call_later(seconds + _LATER_SECONDS, self._look)

    def _look(self) -> None:
        """Interrupt what is over its time; SQLite's own counting looks at no handler."""
        left = self._until - self._loop.time() if self._until else LONGEST_STATEMENT_SECONDS
        if left > 0:
            self._wait(left)
        else:
            self._interrupt()

    def _interrupt(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.interrupt()


def reading_failure(error: Exception, connection: sqlite3.Connection, sql: str) -> Exception:
    """Return what to raise instead of the error of a statement that was to read."""
    if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_READONLY:
        return FlowError("the statement writes, expected one that reads")
    return failure_of(error, connection, sql)
