"""Run a statement on a connection that the caller holds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

from bbops.base.render import plural
from bbops.database.postgres.connection import LONGEST_STATEMENT_SECONDS, Connection
from bbops.database.postgres.parameters import fit
from bbops.database.postgres.text import Text
from bbops.database.sqlite import limits
from bbops.database.sqlite.results import Maps, Rows, Taken
from bbops.runtime.values.failures import FlowError

T = TypeVar("T")
SOON: Final = f"SET LOCAL statement_timeout = '{limits.LONGEST_STATEMENT_SECONDS:g}s'"
"""Within a transaction: later statements have no more time than a statement on SQLite."""
_ROWS_AT_ONCE: Final = 256


async def in_time(connection: Connection, work: Callable[[], Awaitable[T]]) -> T:
    """Do work, within a transaction, that has no more time than a statement on SQLite."""
    await connection.execute(SOON)
    found = await work()
    await connection.execute(f"SET LOCAL statement_timeout = '{LONGEST_STATEMENT_SECONDS}s'")
    return found


async def run_in_time(
    connection: Connection, text: Text, parameters: Sequence[object], at_most: int | None = None
) -> Rows:
    """Run a statement within a transaction; a search in texts has less time."""
    if not text.is_long:
        return await run(connection, text, parameters, at_most)
    return await in_time(connection, lambda: run(connection, text, parameters, at_most))


async def run(
    connection: Connection, text: Text, parameters: Sequence[object], at_most: int | None = None
) -> Rows:
    """Run a statement; a statement without rows returns one row: the number of changed rows.

    Raises:
        FlowError: it returned more than `at_most` rows.
    """
    if text.gives_rows is None:
        rows = await _run_unknown(connection, text, parameters)
    elif text.gives_rows:
        rows = await connection.fetch(text.sql, *parameters)
    else:
        rows = [(_count(await connection.execute(text.sql, *parameters)),)]
    if at_most is not None and len(rows) > at_most:
        most = plural(at_most, "row")
        raise FlowError(f"expected at most {most} to change, found {len(rows)}")
    return rows


async def bounded_maps(connection: Connection, text: Text, parameters: Sequence[object]) -> Maps:
    """Return rows by the names of their columns, within a transaction; parameters are converted.

    Raises:
        FlowError: there are more than MOST_ROWS rows, or they are too large.
    """
    statement = await connection.prepare(text.sql)
    names = [column.name for column in statement.get_attributes()]
    fitted = fit(parameters, statement.get_parameters())
    if not names:
        await statement.fetch(*fitted)
        return [{"count": _count(statement.get_statusmsg())}]
    cursor = await statement.cursor(*fitted)  # a write happens before its first row
    rows = Taken()
    while not rows.is_over and (found := await cursor.fetch(_ROWS_AT_ONCE)):
        for row in found:
            rows.add(row)
    return [dict(zip(names, row, strict=True)) for row in rows.rows()]


async def _run_unknown(connection: Connection, text: Text, parameters: Sequence[object]) -> Rows:
    statement = await connection.prepare(text.sql)
    rows = await statement.fetch(*parameters)
    return rows if statement.get_attributes() else [(_count(statement.get_statusmsg()),)]


def _count(status: str) -> int:
    """Return the rows of `INSERT 0 3`; -1 for statements without a count, as on SQLite."""
    last = status.rpartition(" ")[2]
    return int(last) if last.isdecimal() else -1
