"""Read one request of a history, and the requests to the same endpoint beside it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final, NamedTuple

from bbops.runtime.http.responses import ANSWERED
from bbops_server.data_plane.live.history import connect, decode_batch, read_row

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
