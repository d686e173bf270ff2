"""Reads in threads, each on its own connection, and the end of slow statements."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Final, TypeVar

from bbops.database.sqlite.author_sql import AuthorGuard, restrict
from bbops.database.sqlite.connection import connect
from bbops.database.sqlite.limits import LONGEST_STATEMENT_SECONDS
from bbops.database.sqlite.violations import ERRORS, failure_of
from bbops.runtime.values.failures import FlowError, StatementTimeout

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


# ---- End slow statements in a thread from the event loop, so that the thread checks no clock
# A progress handler is Python: each call takes the interpreter's lock, for which a thread waits up
# to a switch interval while the loop computes. docs/decisions/0100 has the figures.

_AGAIN_SECONDS: Final = 0.05
"""An interrupt between two statements of a block ends neither, so it is repeated."""


class Watch:
    """Interrupts a block of statements in a thread once it has taken LONGEST_STATEMENT_SECONDS.

    Only statements inside of `on` are interrupted, never later ones: SQLite forgets an interrupt
    when the next statement starts, as long as no other one of the connection is open, and the lock
    keeps the loop from a finished block. So statements that begin or end a transaction stay
    outside, and cursors are closed inside.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Watch one block at a time, from `start` on."""
        self._loop, self._lock = loop, Lock()
        self._connection: sqlite3.Connection | None = None
        self._until = 0.0
        self._is_abandoned = False
        self._timer: asyncio.TimerHandle | None = None

    @contextmanager
    def on(self, connection: sqlite3.Connection) -> Iterator[None]:
        """Run the block's statements on this connection; in the thread.

        Raises:
            StatementTimeout: it was abandoned before it began.
        """
        with self._lock:
            if self._is_abandoned:
                raise StatementTimeout(LONGEST_STATEMENT_SECONDS)
            self._connection, self._until = connection, monotonic() + LONGEST_STATEMENT_SECONDS
        try:
            yield
        finally:
            with self._lock:
                self._connection = None

    @contextmanager
    def wait(self) -> Iterator[None]:
        """Watch while the block waits for the thread; if it is cancelled, end the statements."""
        self.start()
        try:
            yield
        except asyncio.CancelledError:
            self._abandon()
            raise
        finally:
            if not self._is_abandoned:
                self.stop()

    def start(self) -> None:
        """Start watching; on the loop."""
        self._wait(LONGEST_STATEMENT_SECONDS)

    def stop(self) -> None:
        """Stop watching after the thread has finished; on the loop."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _abandon(self) -> None:
        """End the statements now, or prevent their start. Watches until the thread is done."""
        with self._lock:
            self._is_abandoned, self._until = True, 0.0
        self.stop()
        self._look()

    def _wait(self, seconds: float) -> None:
        self._timer = self._loop.call_later(seconds, self._look)

    def _look(self) -> None:
        left = self._interrupt_if_late()
        if left is not None:
            self._wait(left)
        elif not self._is_abandoned:
            self._wait(LONGEST_STATEMENT_SECONDS)  # a block that begins now has all of it

    def _interrupt_if_late(self) -> float | None:
        """Return the seconds until the next check of a running block; None without one."""
        with self._lock:
            if self._connection is None:
                return None
            left = self._until - monotonic()
            if left > 0:
                return left
            self._connection.interrupt()
            return _AGAIN_SECONDS
