"""End slow statements in a thread from the event loop, so that the thread checks no clock.

A progress handler is Python: each call takes the interpreter's lock, for which a thread waits up to
a switch interval while the loop computes. docs/decisions/0100 has the figures.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from time import monotonic
from typing import Final

from bbops.database.sqlite.limits import LONGEST_STATEMENT_SECONDS
from bbops.runtime.values.failures import StatementTimeout

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
