"""Let the writes of one turn of the event loop share a transaction, and its commit."""

from __future__ import annotations

import asyncio
import sqlite3
from typing import Final

from bbops.database.sqlite.gate import Gate

MOST: Final = 256
"""Writes that share one commit."""


class Turn:
    """An open transaction on the loop's own connection, committed when the loop turns.

    A commit costs as much as a few inserts; concurrent clients share it. A single write commits
    alone, which is cheaper and sooner: `is_crowded` decides.

    For one loop. Writes report success or failure only after `is_committed`.
    """

    def __init__(
        self, connection: sqlite3.Connection, gate: Gate, loop: asyncio.AbstractEventLoop
    ) -> None:
        """Take a connection in autocommit mode, and the gate of its file."""
        self._connection, self._gate, self._loop = connection, gate, loop
        self._waiting: list[asyncio.Future[bool]] = []
        self._is_open = False
        self._writes = self._before = 0

    def is_crowded(self) -> bool:
        """Count a write; return whether its turn has other writes, as far as known."""
        if not self._writes:
            self._loop.call_soon(self._turn)
        self._writes += 1
        return self._writes > 1 or self._before > 1

    @property
    def is_undone(self) -> bool:
        """Whether a statement has undone everything, as a full disk does."""
        return self._is_open and not self._connection.in_transaction

    def join(self) -> bool:
        """Join the turn's transaction; return False if another process prevents it."""
        if self._is_open and not self.is_undone and len(self._waiting) < MOST:
            return True
        self.end()
        if not self._gate.try_take():
            return False
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except sqlite3.Error:
            self._gate.release()
            return False
        self._is_open = True
        return True

    def is_committed(self) -> asyncio.Future[bool]:
        """Return a future: whether the writes of this turn are committed, all or none."""
        done: asyncio.Future[bool] = self._loop.create_future()
        self._waiting.append(done)
        return done

    def end(self) -> None:
        """Commit the writes so far, if there are any."""
        if not self._is_open:
            return
        self._is_open = False
        waiting, self._waiting = self._waiting, []
        is_committed = self._commit()
        for done in waiting:
            if not done.done():  # otherwise its request was cancelled
                done.set_result(is_committed)

    def _commit(self) -> bool:
        try:
            if not self._connection.in_transaction:
                return False  # an interrupted statement ended it, and undid all
            self._connection.execute("COMMIT")
        except sqlite3.Error:
            self._connection.rollback()
            return False
        finally:
            self._gate.release()
        return True

    def _turn(self) -> None:
        self._before, self._writes = self._writes, 0
        self.end()
