"""Writes that rules of tables look at: a row that may not be written takes all of them back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from bbops.base.render import plural
from bbops.runtime.values.failures import FlowError, Thrown

Rows = list[tuple[Any, ...]]
Piece = tuple[str, Sequence[Any]]
"""A part of a statement, and what its `?` are."""

_END = "SELECT 1"


class Door(Protocol):
    """The part of the database door that such a write needs."""

    async def write_all(self, statements: Any) -> list[Rows]: ...


class RulePieces(NamedTuple):
    """What rules add to an insert whose columns are known only at run time.

    Attributes:
        before: the visible rows that it reads, as WITH names them.
        existing: which rows a conflict may update; begins with WHERE.
        after: whether the row meets the rule, for RETURNING; empty where every row does.
        updates: a conflict updates the row that is there.
    """

    before: Piece
    existing: Piece
    after: Piece
    updates: bool


async def write_allowed(
    database: Door, sql: str, parameters: Sequence[Any], at_most: int | None = None
) -> Rows:
    """Run a write whose RETURNING ends with whether the row may be written; return the rows.

    Raises:
        Thrown: 403, one may not; nothing was written.
    """
    return (await write_all_allowed(database, [(sql, parameters)], at_most))[0]


async def write_all_allowed(
    database: Door, statements: Sequence[Piece], at_most: int | None = None, *,
    updates: bool = False, checks: bool = True,
) -> list[Rows]:  # fmt: skip
    """Run writes in one transaction, as `write_allowed`.

    Args:
        updates: a statement without a row has met one that may not be updated.
        checks: RETURNING ends with whether the row may be written.

    Raises:
        Thrown: 403 or 409; nothing was written.
    """

    def look(results: list[Rows]) -> tuple[()]:
        for rows in results[-len(statements) :]:  # before them may be those of a job's record
            if at_most is not None and len(rows) > at_most:
                most = plural(at_most, "row")
                raise FlowError(f"expected at most {most} to change, found {len(rows)}")
            if updates:
                updated(rows)
            if checks and not all(row[-1] for row in rows):
                raise Thrown(403, "you may not write this row", code="forbidden")
        return ()

    *found, _ = await database.write_all([*statements, (_END, look)])
    return found


def changed(rows: Rows) -> int:
    """Return how many rows a statement returned."""
    return len(rows)


def updated(rows: Rows) -> Rows:
    """Return the rows of an `onConflict` that updates.

    Raises:
        Thrown: 409, the row that is there may not be updated.
    """
    if not rows:
        raise Thrown(409, "this row is there already, and may not be changed", code="conflict")
    return rows
