"""Minutes and hours of the request history: counts by route and status class, with a histogram.

SQL cannot sum the MessagePack batches of the history, so its writer also adds each batch to these
tables, in the transaction of the batch. `counted` holds the id up to which requests are counted.
A batch that does not follow it directly was written by an older server: `catch_up` counts it later,
in order and in small transactions. No batch is left out or counted twice, whenever a process ends.

Drafts have histories of their own, which are counted as well. Requests that the Playground sends
are not: they say nothing about the callers of a project.
"""

from __future__ import annotations

import operator
import sqlite3
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, suppress
from typing import Any, Final

import msgspec

BOUNDS: Final = (0.5, 1.0, 2.0, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 1_000.0, 5_000.0)
"""Milliseconds, each the inclusive end of a bucket; a 12th bucket ends at the slowest request.

Round numbers, because people set their limits there; see docs/decisions/0107.
"""
BUCKETS: Final = len(BOUNDS) + 1
STEP_FAILED: Final = 10
"""Added to the status class of a response below 500 if a step failed, such as one with `1/0`."""
MINUTE: Final = 60
HOUR: Final = 3_600
KEEP_MINUTES_DAYS: Final = 14
KEEP_HOURS_DAYS: Final = 400
BYTES_PER_ROW: Final = 1_000
"""Bytes of a history's quota for each row of a table; a row takes about 70 of them."""
_CATCH_UP: Final = 2_000
"""Requests per transaction of `catch_up`."""
_MAX_BATCHES: Final = 200

_STEPS: Final = {"minutes": MINUTE, "hours": HOUR}
_HISTOGRAM: Final = tuple(f"h{number}" for number in range(BUCKETS))
_SUMS: Final = ("count", *_HISTOGRAM)
_TABLE: Final = (
    "CREATE TABLE IF NOT EXISTS {} (at INTEGER, class INTEGER, route TEXT, "
    + ", ".join(f"{name} INTEGER NOT NULL" for name in _SUMS)
    + ", slowest REAL NOT NULL, PRIMARY KEY (at, class, route)) WITHOUT ROWID"
)
CREATE: Final = (
    *(_TABLE.format(table) for table in _STEPS),
    "CREATE TABLE IF NOT EXISTS counted (one INTEGER PRIMARY KEY, up_to INTEGER NOT NULL)",
)
_ADD: Final = (
    "INSERT INTO {} VALUES (?, ?, ?, " + "?, " * len(_SUMS) + "?) ON CONFLICT DO UPDATE SET "
    + ", ".join(f"{name} = {name} + excluded.{name}" for name in _SUMS)
    + ", slowest = max(slowest, excluded.slowest)"
)  # fmt: skip
_MOVE: Final = "INSERT INTO counted VALUES (1, ?) ON CONFLICT DO UPDATE SET up_to = excluded.up_to"
_UNCOUNTED: Final = (
    "SELECT last, began, requests FROM answered WHERE first > ? ORDER BY first LIMIT ?"
)
_TRIM: Final = (
    "DELETE FROM {0} WHERE at < ? OR at <= (SELECT at FROM {0} ORDER BY at DESC LIMIT 1 OFFSET ?)"
)


class RequestLine(msgspec.Struct, array_like=True, gc=False):
    """A request in a batch, in the order of ANSWERED; `sender` is the user of the Playground.

    Thousands are decoded at once: without `gc=False`, each batch would start the garbage collector.
    """

    at: float
    method: str
    path: str
    route: str
    status: int
    milliseconds: float
    user: msgspec.Raw
    release: str
    bytes_in: int
    bytes_out: int
    request: bytes
    endpoint: str
    failure: str = ""
    step: str = ""
    steps: msgspec.Raw = msgspec.Raw()
    exchange: msgspec.Raw = msgspec.Raw()
    sender: str = ""
    spans: msgspec.Raw = msgspec.Raw()
    refusal: msgspec.Raw = msgspec.Raw()


_decode = msgspec.msgpack.Decoder(list[RequestLine]).decode

Key = tuple[int, int, str]
"""The start of a minute or hour in seconds since 1970, the status class 1 to 5, the endpoint.

The class of a response below 500 whose step failed is larger by STEP_FAILED. Requests without an
endpoint share the empty name.
"""
Tally = dict[Key, list[Any]]
"""For each key the count, the buckets, and the milliseconds of the slowest request."""


def tally(requests: Sequence[RequestLine], began: float) -> Tally:
    """Return the minutes of requests.

    Its loops are short, because the interpreter runs them for each request: nearly all batches are
    of one minute, and sorting durations is quicker than a search per request.

    Args:
        requests: the requests of one process.
        began: the wall clock when its monotonic clock was 0.
    """
    minutes: Tally = {}
    for at, members in _split(requests, began):
        durations: defaultdict[tuple[int, str], list[float]] = defaultdict(list)
        for request in members:
            if not request.sender:
                status = request.status
                if request.failure and status < 500:
                    status += 100 * STEP_FAILED
                durations[status, request.endpoint].append(request.milliseconds)
        for (status, endpoint), values in durations.items():
            key, row = (at, status // 100, endpoint), _histogram(values)
            minutes[key] = add(minutes[key], row) if key in minutes else row
    return minutes


def _split(
    requests: Sequence[RequestLine], began: float
) -> Iterable[tuple[int, Sequence[RequestLine]]]:
    """Return requests by the start of their minute, in seconds since 1970."""
    times = [request.at for request in requests]
    if not times:
        return ()
    first, last = (int(began + end(times)) // MINUTE * MINUTE for end in (min, max))
    if first == last:
        return ((first, requests),)
    minutes: defaultdict[int, list[RequestLine]] = defaultdict(list)
    for request in requests:
        minutes[int(began + request.at) // MINUTE * MINUTE].append(request)
    return minutes.items()


def _histogram(values: list[float]) -> list[Any]:
    """Return the row of some durations, which are sorted."""
    values.sort()
    ends = [bisect_right(values, bound) for bound in BOUNDS]
    buckets = map(operator.sub, (*ends, len(values)), (0, *ends))
    return [len(values), *buckets, values[-1]]


def merge(minutes: Mapping[Key, Sequence[Any]], seconds: int) -> Tally:
    """Return minutes as longer periods of so many seconds."""
    merged: Tally = {}
    for (at, kind, route), row in minutes.items():
        key = at // seconds * seconds, kind, route
        old = merged.get(key)
        merged[key] = [*row] if old is None else add(old, row)
    return merged


def add(left: Sequence[Any], right: Sequence[Any]) -> list[Any]:
    """Return the sum of two rows of a tally."""
    sums = map(operator.add, left[:-1], right[:-1])
    return [*sums, max(left[-1], right[-1])]


def percentile(histogram: Sequence[int], slowest: float, share: float) -> float | None:
    """Return the milliseconds within which a share of requests ended; None without requests.

    Interpolated within a bucket, so it is off by less than that bucket's width.

    Args:
        histogram: the count of each bucket.
        slowest: the milliseconds of the slowest request.
        share: 0 to 1, such as 0.95.
    """
    rank, seen, start = share * sum(histogram), 0, 0.0
    if not any(histogram):
        return None
    for count, bound in zip(histogram, (*BOUNDS, slowest), strict=True):
        end = min(bound, slowest)
        if count and seen + count >= rank:
            return start + max(end - start, 0.0) * max(rank - seen, 0.0) / count
        seen, start = seen + count, bound
    return slowest


def is_counted(connection: sqlite3.Connection) -> bool:
    """Return whether every request in the history is counted.

    Ids begin again at 1 once a history is empty, so its last id may be less than `counted`.
    """
    return _last(connection) <= _counted(connection)


def count(connection: sqlite3.Connection, packed: bytes, began: float) -> None:
    """Add the newest batch to the tables; the caller holds the transaction that wrote it."""
    _add(connection, _read(packed, began))
    connection.execute(_MOVE, (_last(connection),))


def catch_up(connection: sqlite3.Connection) -> bool:
    """Count some of the requests that are not counted yet; return whether more are left."""
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        if is_counted(connection):
            return False
        minutes, last = _read_some(connection)
        _add(connection, minutes)
        connection.execute(_MOVE, (last or _last(connection),))
        return not is_counted(connection)


def trim(connection: sqlite3.Connection, now: float, keep_bytes: int) -> None:
    """Delete old minutes and hours: by age, and beyond the rows for which the quota has room."""
    most = max(keep_bytes // BYTES_PER_ROW, 1)
    for table, days in (("minutes", KEEP_MINUTES_DAYS), ("hours", KEEP_HOURS_DAYS)):
        connection.execute(_TRIM.format(table), (now - days * 86_400, most))


def _counted(connection: sqlite3.Connection) -> int:
    row = connection.execute("SELECT up_to FROM counted").fetchone()
    return int(row[0]) if row else 0


def _last(connection: sqlite3.Connection) -> int:
    row = connection.execute("SELECT last FROM answered ORDER BY first DESC LIMIT 1").fetchone()
    return int(row[0]) if row else 0


def _read_some(connection: sqlite3.Connection) -> tuple[Tally, int]:
    """Return the minutes of the oldest uncounted requests, and the last id; 0 without one."""
    minutes: Tally = {}
    last = requests = 0
    with closing(connection.execute(_UNCOUNTED, (_counted(connection), _MAX_BATCHES))) as batches:
        for last, began, packed in batches:  # noqa: B007 - the id of the last batch
            for key, row in _read(packed, began).items():
                minutes[key] = add(minutes[key], row) if key in minutes else row
                requests += row[0]
            if requests >= _CATCH_UP:
                break
    return minutes, last


def _read(packed: bytes, began: float) -> Tally:
    """Return the minutes of a batch; none of a damaged one, which must not stop the writer."""
    with suppress(msgspec.MsgspecError, TypeError, ValueError, IndexError, OverflowError):
        return tally(_decode(packed), began)
    return {}


def _add(connection: sqlite3.Connection, minutes: Tally) -> None:
    for table, rows in (("minutes", minutes), ("hours", merge(minutes, HOUR))):
        values = [(*key, *row) for key, row in rows.items()]
        connection.executemany(_ADD.format(table), values)
