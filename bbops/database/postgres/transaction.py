"""Statements and serializable transactions on a held connection."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Final, Self, TypeVar

import asyncpg

from bbops.base.render import plural
from bbops.database.postgres.connection import LONGEST_STATEMENT_SECONDS, Connection
from bbops.database.postgres.pool import Pool
from bbops.database.postgres.text import Text, fit
from bbops.database.postgres.violations import ERRORS, LookUp, failure_of, is_conflict
from bbops.database.sqlite import limits
from bbops.database.sqlite.results import Maps, Rows, Taken, bounded_rows
from bbops.database.sqlite.writer import Statements
from bbops.runtime.values.failures import Conflict, Failure, FlowError

# ---- Run a statement on a connection that the caller holds

T = TypeVar("T")


class PostgresTransaction:
    """One transaction, used in `async with`: commits at its end, and is undone by an error.

    A failed statement changes nothing, and the transaction continues: a savepoint stands before it,
    unless it is the first one. A cancellation or a conflict with another transaction ends it; then
    it can only be rolled back.
    """

    def __init__(self, pool: Pool, text: Callable[[str], Text], columns_of: LookUp) -> None:
        self._pool, self._text, self._columns_of = pool, text, columns_of
        self._lost: Exception | None = None
        self._begun = self._is_kept = self._has_written = False

    async def __aenter__(self) -> Self:
        self._connection: Connection = await self._pool.take()
        try:
            await self._begin()
        except BaseException as error:
            self._leave(error)
            if isinstance(error, ERRORS):
                raise await failure_of(error, "", self._columns_of) from None
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        lost, self._lost = self._lost, FlowError("the transaction is over")
        try:
            if error is None and lost is None:
                await self._commit()
            elif not isinstance(error, asyncio.CancelledError):
                await self._undo()
        except BaseException as failed:
            error = failed
            raise
        finally:
            self._leave(error)
        if error is None and lost is not None:
            raise lost

    async def read(self, sql: str, parameters: Sequence[object] = ()) -> Rows:
        """Return the rows of a statement that changes nothing; it sees the changes before it."""
        text = self._text(sql)

        async def work(connection: Connection) -> Rows:
            return await run_in_time(connection, text, parameters)

        return bounded_rows(await self._run(sql, work, writes=False))

    async def write(
        self, sql: str, parameters: Sequence[object] = (), *, at_most: int | None = None
    ) -> Rows:
        """Run one statement and return its RETURNING rows; a failed one changes nothing."""
        return (await self.write_all([(sql, parameters)], at_most=at_most))[0]

    async def change(self, sql: str, parameters: Sequence[object] = ()) -> int:
        """Run one statement without RETURNING and return how many rows it changed."""
        return int((await self.write(sql, parameters))[0][0])

    async def write_all(self, statements: Statements, *, at_most: int | None = None) -> list[Rows]:
        """Run several statements, all of them or none, and return each one's rows."""
        current = ""
        texts = [(self._text(sql), parameters) for sql, parameters in statements]

        async def work(connection: Connection) -> list[Rows]:
            nonlocal current
            results = list[Rows]()
            for text, parameters in texts:
                current = text.sql
                given = parameters(results) if callable(parameters) else parameters
                results.append(await run_in_time(connection, text, given, at_most))
            return results

        return await self._run(lambda: current, work, writes=True)

    async def rows(
        self, sql: str, parameters: Sequence[object] = (), *, writes: bool = False
    ) -> Maps:
        """Return the rows of a statement as maps; see `Database.rows`."""
        text = self._text(sql)

        async def work(connection: Connection) -> Maps:
            if writes:
                return await in_time(connection, lambda: bounded_maps(connection, text, parameters))
            await connection.execute(
                f"SAVEPOINT reading; SET LOCAL transaction_read_only = on; {SOON}"
            )
            found = await bounded_maps(connection, text, parameters)
            await connection.execute("ROLLBACK TO SAVEPOINT reading")  # it may write again
            return found

        return await self._run(sql, work, writes=writes)

    def transaction(self) -> PostgresTransaction:
        """Refuse a nested transaction, which the check refuses already.

        Raises:
            FlowError: always.
        """
        raise FlowError("a transaction cannot begin inside another one")

    def _leave(self, error: BaseException | None) -> None:
        """Return the connection; after a cancelled statement it is repaired first."""
        if isinstance(error, asyncio.CancelledError):
            self._pool.repair(self._connection, self._undo)
        else:
            self._pool.give(self._connection)

    async def _begin(self) -> None:
        self._transaction = self._connection.transaction(isolation="serializable")
        await self._transaction.start()
        self._begun = self._is_kept = self._has_written = False

    async def _commit(self) -> None:
        try:
            await self._transaction.commit()
        except ERRORS as error:
            raise await failure_of(error, "", self._columns_of) from None

    async def _undo(self) -> None:
        with suppress(*ERRORS):
            await self._transaction.rollback()

    async def _run(
        self, sql: str | Callable[[], str], work: Callable[[Connection], Awaitable[T]], *,
        writes: bool,
    ) -> T:  # fmt: skip
        if self._lost is not None:
            raise self._lost
        try:
            await self._keep()
            self._has_written = writes
            return await work(self._connection)
        except asyncio.CancelledError:
            self._lost = FlowError(
                "the transaction was rolled back: one of its steps was interrupted"
            )
            raise
        except (*ERRORS, Failure) as error:
            raise await self._failed(error, sql if isinstance(sql, str) else sql()) from None

    async def _keep(self) -> None:
        """Set a savepoint after earlier statements, if there were any."""
        if self._begun and not self._is_kept:
            await self._connection.execute("SAVEPOINT kept")
            self._is_kept = True
        elif self._has_written:
            await self._connection.execute("RELEASE SAVEPOINT kept; SAVEPOINT kept")
        self._begun, self._has_written = True, False

    async def _failed(self, error: Exception, sql: str) -> Exception:
        """Undo the statement, so that the transaction may continue, and return its error."""
        try:
            await self._undo_statement()
        except ERRORS as lost:
            self._lost = await failure_of(lost, "", self._columns_of)
        if is_conflict(error):
            self._lost = Conflict()
        if isinstance(error, Failure):
            return error
        if isinstance(error, asyncpg.ReadOnlySQLTransactionError):
            return FlowError("the statement writes, expected one that reads")
        return await failure_of(error, sql, self._columns_of)

    async def _undo_statement(self) -> None:
        self._has_written = False
        if self._is_kept:
            await self._connection.execute("ROLLBACK TO SAVEPOINT kept")
        else:  # it was the first one
            await self._transaction.rollback()
            await self._begin()


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
