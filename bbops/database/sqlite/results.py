"""Fetch the rows of a statement, up to a limit."""

from __future__ import annotations

import sqlite3
from typing import Any

from bbops.database.sqlite.limits import MOST_RESULT_BYTES
from bbops.runtime.data.rows import MOST_ROWS
from bbops.runtime.values.failures import FlowError

Rows = list[tuple[Any, ...]]
Maps = list[dict[str, Any]]


def bounded_rows(rows: Rows) -> Rows:
    """Return the rows of a read; more than MOST_ROWS is a FlowError."""
    if len(rows) > MOST_ROWS:
        raise FlowError(f"expected at most {MOST_ROWS} rows, found more")
    return rows


class Taken:
    """Rows that arrive one by one, and their size."""

    def __init__(self) -> None:
        self._rows: Rows = []
        self._bytes = 0

    @property
    def is_over(self) -> bool:
        """Whether there are more rows than the limit."""
        return len(self._rows) > MOST_ROWS

    def add(self, row: tuple[Any, ...]) -> None:
        """Add one more row.

        Raises:
            FlowError: there are more than MOST_RESULT_BYTES in all.
        """
        self._rows.append(row)
        self._bytes += sum([len(cell) for cell in row if type(cell) is str or type(cell) is bytes])
        if self._bytes > MOST_RESULT_BYTES:
            raise FlowError(f"expected at most {MOST_RESULT_BYTES >> 20} MiB of rows, found more")

    def rows(self) -> Rows:
        """Return the rows; more than MOST_ROWS is a FlowError."""
        return bounded_rows(self._rows)


def take_rows(cursor: sqlite3.Cursor) -> Rows:
    """Return all rows of a statement that runs in a thread; raises as `Taken`."""
    taken = Taken()
    for row in cursor:
        taken.add(row)
        if taken.is_over:
            break
    return taken.rows()


def maps(cursor: sqlite3.Cursor) -> Maps:
    """Return rows by the names of their columns; `{count}` for a statement without rows.

    Raises:
        FlowError: there are too many, see `take_rows`.
    """
    if cursor.description is None:
        return [{"count": cursor.rowcount}]
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in take_rows(cursor)]
