"""Limits of statements and databases: figures, reasons, clocks, and slow statements.

docs/decisions/0026 has the measurements behind them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from math import inf
from time import perf_counter
from typing import Final

LONGEST_STATEMENT_SECONDS: Final = 10.0
"""A statement that takes longer is interrupted, and its request is answered with 503."""
INLINE_SECONDS: Final = 0.005
"""How long a statement may keep the event loop; it then starts again in a thread."""
OPERATIONS_PER_LOOK: Final = 1_000
"""On the loop, SQLite checks the clock after so many steps of a statement: about 20 µs."""
LONGEST_VALUE_BYTES: Final = 64 << 20
"""The size of a value or a row: a column of type json holds 10,000,000 characters."""
OWN_VALUE_BYTES: Final = 4_000_000
"""The size of a value in an author's own SQL: the longest text of a flow, in UTF-8."""
MOST_RESULT_BYTES: Final = 64 << 20
"""The most bytes of texts and binary values that one statement off the loop may return."""

LIMITS: Final[Mapping[int, int]] = {
    # One operation on a value cannot be interrupted, so its length bounds the time it takes.
    sqlite3.SQLITE_LIMIT_LENGTH: LONGEST_VALUE_BYTES,
    # The longest text that a project's file can hold.
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 1_000_000,
    # SQLite's defaults; some builds have other ones. A table's columns, and a deep condition.
    sqlite3.SQLITE_LIMIT_COLUMN: 2_000,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 1_000,
    # Each part of a UNION takes stack and time to compile; ours have two.
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 50,
    # A program of a million operations is 30 MB; the longest of ours has thousands.
    sqlite3.SQLITE_LIMIT_VDBE_OP: 1_000_000,
    # SQLite's default: a row of related tables is the arguments of one json_array().
    sqlite3.SQLITE_LIMIT_FUNCTION_ARG: 127,
    # LIKE costs value times pattern: up to 1 s for 4 MB and 128 bytes; SQLite's default is 50,000.
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 128,
    # A parameter for each column and value of a statement; lists are one, as JSON.
    sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER: 10_000,
    # SQLite's default: a row that is deleted takes its children along, and theirs.
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 1_000,
    # Statements have no access to other files.
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    # Helper threads of SQLite would not be counted.
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
"""The limits of every connection that answers requests, by SQLite's number of the limit."""


def set_limits(connection: sqlite3.Connection) -> None:
    """Set the limits on the statements of this connection."""
    for limit, most in LIMITS.items():
        connection.setlimit(limit, most)


class Deadline:
    """A progress handler that interrupts a statement of the event loop's own thread.

    Only in a `with` block, or after `begin`. That costs nothing: the clock is read after the
    statement has made its first 1,000 steps. Statements in other threads have a `Watch`.

    The block must not begin or end a transaction. SQLite counts the steps of a cached statement
    over all its runs, and checks a last time when it is done: an interrupted BEGIN has begun, and
    an interrupted COMMIT has committed.
    """

    __slots__ = ("seconds", "until")

    def __init__(self, seconds: float) -> None:
        self.seconds, self.until = seconds, inf

    def begin(self) -> None:
        """Start the clock now."""
        self.until = 0.0

    def __enter__(self) -> None:
        self.until = 0.0

    def __exit__(self, *_: object) -> None:
        self.until = inf

    def __call__(self) -> bool:
        """Return whether SQLite should end the statement."""
        now = perf_counter()
        if not self.until:
            self.until = now + self.seconds
        return now > self.until


_RUNS: Final = 8
"""The number of runs in a thread before the loop is tried again: rows and parameters change."""

_MOST: Final = 1_024


class Overruns(dict[tuple[str, ...], int]):
    """Lists of statements, and the number of their next runs that begin in a thread.

    Empty, and so false, as long as all statements are fast.
    """

    def note(self, *texts: str) -> None:
        """Record statements that were too slow on the loop."""
        if len(self) >= _MOST:
            self.clear()
        self[texts] = _RUNS

    def take(self, *texts: str) -> bool:
        """Return whether these statements begin in a thread, and count the run."""
        left = self.pop(texts, 0)
        if left > 1:
            self[texts] = left - 1
        return left > 0


# ---- How large the databases of this process may grow: unbounded, unless it says otherwise

_most: list[int] = []


def limit_size(size_bytes: int) -> None:
    """Let no file that this process writes from now on grow beyond that; once, for good."""
    _most[:] = [size_bytes]


def set_quota(connection: sqlite3.Connection) -> None:
    """Bound the file of a connection that writes, where this process has a bound."""
    if _most:
        (page_bytes,) = connection.execute("PRAGMA page_size").fetchone()
        connection.execute(f"PRAGMA max_page_count = {_most[0] // page_bytes}").close()
