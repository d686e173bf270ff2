"""The request history: what was asked, what was answered, how long it took, what failed.

A request only appends to a ring in memory; one thread writes the ring to SQLite in batches. A
crash loses at most the last moment of history, never a request.
"""

from __future__ import annotations

import sqlite3
import threading
from collections import deque
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from bbops.runtime.answering import Answered

RING: Final = 50_000
"""Requests that wait in memory at most; the oldest give way when the disk cannot keep up."""

FLUSH_SECONDS: Final = 0.25
KEEP_DAYS: Final = 14
KEEP_ROWS: Final = 1_000_000
_BATCH: Final = 5_000
_TRIM_SECONDS: Final = 60.0
_COLUMNS = (
    "at", "method", "path", "route", "status", "milliseconds", "user", "release", "bytes_in",
    "bytes_out", "failure", "step", "request",
)  # fmt: skip
_CREATE = f"""
CREATE TABLE IF NOT EXISTS requests (
  id INTEGER PRIMARY KEY, {", ".join(_COLUMNS)}
);
CREATE INDEX IF NOT EXISTS requests_at ON requests (at);
CREATE INDEX IF NOT EXISTS requests_status ON requests (status, at);
"""
_INSERT = f"INSERT INTO requests ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"


class History:
    """Takes what was answered, and writes it behind the requests' back."""

    def __init__(self, path: Path) -> None:
        """Start the writer; a file that cannot be written costs the history, not the server."""
        self.path = path
        self.ring: deque[Answered] = deque(maxlen=RING)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._write, name="bbops-history", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Write what is left and end the thread. Blocks for one batch."""
        self._stopped.set()
        self._thread.join(5)

    def _write(self) -> None:
        trimmed = 0.0
        while True:
            is_last = self._stopped.wait(FLUSH_SECONDS)
            if self.ring:
                with suppress(sqlite3.Error, OSError):
                    self._flush()
            trimmed += FLUSH_SECONDS
            if trimmed >= _TRIM_SECONDS:
                trimmed = 0.0
                with suppress(sqlite3.Error, OSError):
                    self._trim()
            if is_last:
                return

    def _flush(self) -> None:
        with closing(connect(self.path)) as connection:
            while self.ring:
                rows = [row_of(self.ring.popleft()) for _ in range(min(_BATCH, len(self.ring)))]
                with connection:
                    connection.execute("BEGIN IMMEDIATE")
                    connection.executemany(_INSERT, rows)

    def _trim(self) -> None:
        now = datetime.now(UTC)  # noqa: TID251 - the server's own clock, no function runs here
        oldest = (now - timedelta(days=KEEP_DAYS)).isoformat()
        with closing(connect(self.path)) as connection, connection:
            connection.execute("DELETE FROM requests WHERE at < ?", (oldest,))
            connection.execute(
                "DELETE FROM requests WHERE id <= (SELECT max(id) FROM requests) - ?", (KEEP_ROWS,)
            )


def connect(path: Path) -> sqlite3.Connection:
    """Return a connection to the history, which is made if it is not there."""
    connection = sqlite3.connect(path, timeout=5, isolation_level=None)
    connection.execute("PRAGMA journal_mode = wal")
    connection.execute("PRAGMA synchronous = normal")
    connection.executescript(_CREATE)
    return connection


def row_of(answered: Answered) -> tuple[Any, ...]:
    """Return a row of the table; times are UTC with milliseconds."""
    at = datetime.fromtimestamp(answered.at, UTC).isoformat(timespec="milliseconds")
    return (
        at, answered.method, answered.path, answered.route, answered.status,
        round(answered.milliseconds, 3), answered.user, answered.release, answered.bytes_in,
        answered.bytes_out, answered.failure, answered.step, answered.request,
    )  # fmt: skip


def find(
    history: Path, /, *, limit: int = 50, after: int = 0, **filters: Any
) -> list[dict[str, Any]]:
    """Return the newest requests, newest last; `after` is an id seen before.

    Args:
        filters: method, path, route, status (exact, or `5xx`), release, slower_than (ms).
    """
    clauses, values = ["id > ?"], [after]
    for name in ("method", "path", "route", "release"):
        if filters.get(name):
            clauses.append(f"{name} = ?")
            values.append(filters[name])
    status = str(filters.get("status") or "")
    if status.endswith("xx"):
        clauses.append("status >= ? AND status < ?")
        values += [int(status[0]) * 100, int(status[0]) * 100 + 100]
    elif status:
        clauses.append("status = ?")
        values.append(int(status))
    if filters.get("slower_than"):
        clauses.append("milliseconds > ?")
        values.append(filters["slower_than"])
    names = ", ".join(("id", *_COLUMNS))
    sql = f"SELECT {names} FROM requests WHERE {' AND '.join(clauses)} ORDER BY id DESC LIMIT ?"
    with closing(connect(history)) as connection:
        rows = connection.execute(sql, (*values, limit)).fetchall()
    return [dict(zip(("id", *_COLUMNS), row, strict=True)) for row in reversed(rows)]
