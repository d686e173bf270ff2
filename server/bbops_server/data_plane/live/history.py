"""The request history: what was asked, what was answered, how long it took, what failed.

A request only appends to a ring in memory; one thread writes the ring to SQLite. A crash loses at
most the last moment of history, never a request.

The ring holds bytes: tuples that wait would be looked at by the garbage collector again and again.

A row of SQLite is a batch of requests: writing them one by one took the interpreter's lock from
the requests so often that it cost more than a small request itself. The same transaction adds the
batch to the tables of `minutes`.
"""

from __future__ import annotations

import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from time import perf_counter
from typing import Any, Final, NamedTuple

import msgspec

from bbops.base.disk import make_private
from bbops.runtime.http.responses import ANSWERED, Answered
from bbops_server.data_plane.live import minutes

RING: Final = 50_000
"""Requests that wait in memory at most; the oldest give way when the disk cannot keep up."""

FLUSH_SECONDS: Final = 0.25
KEEP_DAYS: Final = 14
KEEP_ROWS: Final = 1_000_000
KEEP_BYTES: Final = 1 << 30
MANY_WAITING: Final = 5_000
"""With so many in the ring no more is kept of a request than its line."""
_BATCH: Final = 2_000
_TRIM_SECONDS: Final = 60.0
_FLUSHES_PER_TRIM: Final = 20
# `began` is what the monotonic clock showed when the time was 1970.
_CREATE: Final = """
CREATE TABLE IF NOT EXISTS answered (
  first INTEGER PRIMARY KEY, last INTEGER NOT NULL, written REAL NOT NULL, began REAL NOT NULL,
  requests BLOB NOT NULL
)
"""
_INSERT: Final = """
INSERT INTO answered SELECT coalesce(max(last), 0) + 1, coalesce(max(last), 0) + ?, ?, ?, ?
FROM (SELECT last FROM answered ORDER BY first DESC LIMIT 1)
"""
_DROP_TENTH: Final = """
DELETE FROM answered WHERE first <= (
  SELECT first FROM answered ORDER BY first LIMIT 1 OFFSET (SELECT count(*) / 10 FROM answered)
)
"""
_ARRAY: Final = b"\xdd"
"""In MessagePack, before the number of an array's members in four bytes."""
_MEANT: Final[tuple[Any, ...]] = (*[""] * ANSWERED.index("steps"), [], None, "", None, None)
"""What was left out at the end of a line."""
_SEARCHED: Final = tuple(
    map(ANSWERED.index, ("path", "endpoint", "request", "user", "failure", "step"))
)
_STATUS: Final = ANSWERED.index("status")
_MILLISECONDS: Final = ANSWERED.index("milliseconds")
_REQUEST: Final = ANSWERED.index("request")
_FAILURE: Final = ANSWERED.index("failure")
_EXCHANGE: Final = ANSWERED.index("exchange")
_REFUSAL: Final = ANSWERED.index("refusal")
FAILED: Final = "failed"
"""The filter of the status for failures: responses 5xx, and others in which a step failed."""
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[tuple[Any, ...]]).decode


class History:
    """Takes what was answered, and writes it behind the requests' back."""

    def __init__(self, path: Path, keep_bytes: int = KEEP_BYTES) -> None:
        """Start the writer; a file that cannot be written costs the history, not the server."""
        self.path, self._keep_bytes = path, keep_bytes
        self.ring: deque[bytes] = deque(maxlen=RING)
        self._stopped, self._is_behind = threading.Event(), True
        self._thread = threading.Thread(target=self._write, name="bbops-history", daemon=True)
        self._thread.start()

    def remember(self, answered: Answered) -> None:
        """Take what was answered to one request."""
        if len(answered) > _EXCHANGE and len(self.ring) > MANY_WAITING:
            answered = (*answered[:_EXCHANGE], None, *answered[_EXCHANGE + 1 :])
        try:
            self.ring.append(_encode(answered))
        except UnicodeEncodeError:  # half a character, from a message that quotes a request
            self.ring.append(_encode(_whole(answered)))

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
            if self._is_behind and not is_last:
                self._catch_up()
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
                rows = [self.ring.popleft() for _ in range(min(_BATCH, len(self.ring)))]
                now = _now()
                packed = _ARRAY + len(rows).to_bytes(4) + b"".join(rows)
                self._insert(connection, (len(rows), now, now - perf_counter(), packed))

    def _insert(
        self, connection: sqlite3.Connection, batch: tuple[int, float, float, bytes]
    ) -> None:
        """Write a batch with its minutes, or leave them to `_catch_up` if others come first."""
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            is_next = minutes.is_counted(connection)
            connection.execute(_INSERT, batch)
            if is_next:
                minutes.count(connection, batch[-1], batch[-2])
        self._is_behind = self._is_behind or not is_next

    def _catch_up(self) -> None:
        """Count requests that an older server wrote, a few thousand at a time."""
        self._is_behind = False  # after an error, the next batch finds out again
        with suppress(sqlite3.Error, OSError):
            if self.path.exists():
                with closing(connect(self.path)) as connection:
                    self._is_behind = minutes.catch_up(connection)

    def _trim(self) -> None:
        oldest = _now() - KEEP_DAYS * 86_400
        with closing(connect(self.path)) as connection:
            connection.execute(
                "DELETE FROM answered WHERE last <= (SELECT max(last) FROM answered) - ?"
                # batches lie in the order of time: this looks no further than the first to stay
                " OR first <"
                " (SELECT first FROM answered WHERE written >= ? ORDER BY first LIMIT 1)",
                (KEEP_ROWS, oldest),
            )
            minutes.trim(connection, _now(), self._keep_bytes)
            if _used_bytes(connection) > self._keep_bytes:
                connection.execute(_DROP_TENTH)


class RestingHistory(History):
    """The same for a process that must not wake while nobody asks: its writer sleeps till then."""

    def __init__(self, path: Path, keep_bytes: int) -> None:
        self._asked = threading.Event()
        super().__init__(path, keep_bytes)

    def remember(self, answered: Answered) -> None:
        """Take what was answered to one request."""
        super().remember(answered)
        self._asked.set()

    def close(self) -> None:
        """Write what is left and end the thread. Blocks for one batch."""
        self._stopped.set()
        self._asked.set()
        super().close()

    def _write(self) -> None:
        trimmed = 0
        while not self._stopped.is_set():
            self._asked.wait()
            self._stopped.wait(FLUSH_SECONDS)  # for those that come together
            self._asked.clear()
            with suppress(sqlite3.Error, OSError):
                self._flush()
                trimmed += 1
                if trimmed % _FLUSHES_PER_TRIM == 0:
                    self._trim()
            if self._is_behind:
                self._catch_up()
                if self._is_behind:
                    self._asked.set()
        with suppress(sqlite3.Error, OSError):
            self._flush()


def connect(path: Path) -> sqlite3.Connection:
    """Return a connection to the history, which is made if it is not there."""
    with suppress(OSError):  # SQLite says it better
        make_private(path)
    connection = sqlite3.connect(path, timeout=5, isolation_level=None)
    connection.execute("PRAGMA journal_mode = wal")
    connection.execute("PRAGMA synchronous = normal")
    for statement in (_CREATE, *minutes.CREATE):
        connection.execute(statement)
    return connection


def _used_bytes(connection: sqlite3.Connection) -> int:
    names = ("page_count", "freelist_count", "page_size")
    pages, free, size = (connection.execute(f"PRAGMA {one}").fetchone()[0] for one in names)
    used: int = (pages - free) * size
    return used


def _now() -> float:
    return datetime.now(UTC).timestamp()  # noqa: TID251 - the server's own clock, no function runs


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, list | tuple):
        return [_whole(one) for one in value]
    if isinstance(value, dict):
        return {_whole(name): _whole(one) for name, one in value.items()}
    return value


def find(
    history: Path, /, *, limit: int = 50, after: int = 0, before: int = 0, since: float = 0.0,
    details: bool = False, **filters: Any,
) -> list[dict[str, Any]]:  # fmt: skip
    """Return the newest requests, newest last; `after` is an id seen before.

    Reads batches, newest first, until it has enough: a filter that matches nothing reads all.

    Args:
        before: an id; those that came before it, 0 for all.
        since: when the oldest of them may have come, in seconds since 1970.
        details: with `exchange`, what was asked and answered, where it is kept.
        filters: method, path, route, endpoint, status (exact, `5xx`, or FAILED), release,
            slower_than (ms), until (as `since`), text (anywhere in it, whatever the case).
    """
    is_wanted = _matcher(filters | {"since": since})
    found: list[dict[str, Any]] = []
    if not history.exists():
        return found
    with closing(connect(history)) as connection:
        for number, began, row in _newest_first(connection, after, before, since):
            if is_wanted(began, row):
                request = read_row(number, began, row)
                if not details:
                    del request["exchange"], request["spans"]
                found.append(request)
                if len(found) >= limit:
                    break
    return found[::-1]


def _newest_first(
    connection: sqlite3.Connection, after: int, before: int, since: float
) -> Iterator[tuple[int, float, Sequence[Any]]]:
    sql = (
        "SELECT first, began, requests FROM answered WHERE last > ? AND written >= ? AND first < ?"
        " ORDER BY first DESC"
    )
    before = before or 1 << 62
    for first, began, packed in connection.execute(sql, (after, since, before)):
        for number, row in reversed([*enumerate(_decode(packed), first)]):
            if number <= after:
                return
            if number < before:
                yield number, began, row


def decode_batch(packed: bytes) -> list[tuple[Any, ...]]:
    """Return the rows of a batch, for `read_row`. Raises: DecodeError: it is damaged."""
    return _decode(packed)


def read_row(number: int, began: float, row: Sequence[Any]) -> dict[str, Any]:
    """Return a request by the names of ANSWERED, with its id.

    Args:
        number: the id.
        began: the wall clock when the monotonic clock of its process was 0.
        row: its values, of which those at the end may be missing.
    """
    request = dict(zip(ANSWERED, (*row, *_MEANT[len(row) :]), strict=False))
    request["request"] = request["request"].decode()
    request["milliseconds"] = round(request["milliseconds"], 3)
    at = datetime.fromtimestamp(began + request["at"], UTC)
    return {"id": number, **request, "at": at.isoformat(timespec="milliseconds")}


def _matcher(filters: Mapping[str, Any]) -> Callable[[float, Sequence[Any]], bool]:
    """Return the test of a row; it reads a million rows where nothing matches, so it is quick."""
    names = ("method", "path", "route", "endpoint", "release")
    equal = [(ANSWERED.index(name), filters[name]) for name in names if filters.get(name)]
    earliest, latest = filters.get("since") or 0.0, filters.get("until") or inf
    text = str(filters.get("text") or "").lower()
    status, slower = str(filters.get("status") or ""), filters.get("slower_than") or -1.0
    only_failed = status == FAILED
    prefix = "" if only_failed else status[0] if status.endswith("xx") else status

    def is_wanted(began: float, row: Sequence[Any]) -> bool:
        return (
            all(row[index] == value for index, value in equal)
            and row[_MILLISECONDS] > slower
            and (not prefix or str(row[_STATUS]).startswith(prefix))
            and (not only_failed or is_failed(row))
            and earliest <= began + row[0] <= latest
            and (not text or text in _words(row).lower())
        )

    return is_wanted


def is_failed(row: Sequence[Any]) -> bool:
    """Return whether a row is a failure, as `minutes` counts them."""
    return row[_STATUS] >= 500 or (len(row) > _FAILURE and bool(row[_FAILURE]))


def _words(row: Sequence[Any]) -> str:
    """Return the texts of a row that a search reads."""
    words = [str(row[index]) for index in _SEARCHED if index < len(row)]
    words[2] = row[_REQUEST].decode()
    if len(row) > _EXCHANGE and row[_EXCHANGE]:
        words += map(str, row[_EXCHANGE].values())
    if len(row) > _REFUSAL and row[_REFUSAL]:
        words += map(str, row[_REFUSAL].values())
    return "\n".join(words)


# ---- Follow a request history: the requests that were written since the last look

MAX_ROWS: Final = 50
"""Requests of one look; those before them are only counted."""


class HistoryTail:
    """Reads new requests. Blocks; a look at an unchanged history reads no database."""

    def __init__(self, path: Path, after: int = 0) -> None:
        """Create a reader.

        Args:
            path: the history.
            after: the id of the last known request; 0 for none. A larger id than the newest counts
                as the newest.
        """
        self._paths = (path, path.with_name(f"{path.name}-wal"))
        self.last = after
        self._stamp: tuple[object, ...] = ()

    def read(self) -> tuple[list[dict[str, Any]], int]:
        """Return the new requests, oldest first, and the number of those that are left out."""
        stamp = tuple(map(_stamp, self._paths))
        if stamp == self._stamp:
            return [], 0
        self._stamp = stamp
        rows = find(self._paths[0], limit=MAX_ROWS, after=self.last)
        if not rows:
            self.last = min(self.last, _newest(self._paths[0]))  # ids of a new file begin at 1
            return [], 0
        skipped = rows[0]["id"] - self.last - 1 if self.last else 0  # ids have no gaps
        self.last = rows[-1]["id"]
        return rows, skipped


def _newest(path: Path) -> int:
    """Return the newest id of a history; 0 if it is empty."""
    return next((row["id"] for row in find(path, limit=1)), 0)


def _stamp(path: Path) -> tuple[int, int, int] | None:
    """Return the state of a file, which each write changes; None if there is no file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


# ---- Read one request of a history, and the requests to the same endpoint beside it

MAX_BATCHES: Final = 200
"""Batches to search for a neighbour: of rare endpoints, the next request may be far away."""
_ENDPOINT: Final = ANSWERED.index("endpoint")
_COLUMNS: Final = "SELECT first, began, requests FROM answered"


class Neighbours(NamedTuple):
    """The ids of the requests before and after a request, None if there is none nearby."""

    before: int | None
    after: int | None


def read_request(history: Path, number: int) -> dict[str, Any] | None:
    """Return a request with its exchange; None if the history has no such id."""
    if not history.exists():
        return None
    with closing(connect(history)) as connection:
        batches = _query(connection, "<= ? ORDER BY first DESC LIMIT ?", number, 1)
        for at, began, row in batches:
            if at == number:
                return read_row(at, began, row)
    return None


def find_neighbours(history: Path, number: int, endpoint: str) -> Neighbours:
    """Return the ids of the requests to an endpoint before and after a request."""
    with closing(connect(history)) as connection:
        older = _query(connection, "<= ? ORDER BY first DESC LIMIT ?", number, MAX_BATCHES)
        before = (at for at, _, row in older if at < number and row[_ENDPOINT] == endpoint)
        start = connection.execute(
            "SELECT coalesce(max(first), 0) FROM answered WHERE first <= ?", (number,)
        ).fetchone()[0]
        newer = _query(connection, ">= ? ORDER BY first LIMIT ?", start, MAX_BATCHES)
        ascending = (at for at, _, row in newer if at > number and row[_ENDPOINT] == endpoint)
        return Neighbours(next(before, None), next(ascending, None))


def _query(
    connection: sqlite3.Connection, condition: str, number: int, most: int
) -> Iterator[tuple[int, float, tuple[Any, ...]]]:
    """Yield the rows of batches, each with its id, in the order of the batches."""
    is_descending = "DESC" in condition
    batches = connection.execute(f"{_COLUMNS} WHERE first {condition}", (number, most))
    for first, began, packed in batches:
        rows = [*enumerate(decode_batch(packed), first)]
        for at, row in reversed(rows) if is_descending else rows:
            yield at, began, row
