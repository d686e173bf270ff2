"""Run statements on a PostgreSQL server: a `bbops.base.host.Database` like `Sqlite`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Final, Literal, TypeVar

import asyncpg

from bbops.base.errors import DatabaseError
from bbops.database.postgres.connection import Connection, case_collation, connect
from bbops.database.postgres.pool import Pool
from bbops.database.postgres.text import Text, translate
from bbops.database.postgres.transaction import (
    SOON,
    PostgresTransaction,
    bounded_maps,
    run,
    run_in_time,
)
from bbops.database.postgres.violations import COLUMNS, ERRORS, failure_of, is_conflict, is_lost
from bbops.database.schema.place import PostgresPlace
from bbops.database.sqlite.results import Maps, Rows, bounded_rows
from bbops.database.sqlite.writer import Statements
from bbops.runtime.values.failures import Failure, FlowError
from bbops.runtime.values.identifiers import quote

T = TypeVar("T")
Work = Callable[[Connection], Awaitable[T]]
_MOST_TEXTS: Final = 4_096
_MOST_ATTEMPTS: Final = 5
_READERS: Final = 6
_WRITERS: Final = 4


class Postgres:
    """The tables of one schema, for one event loop of one process.

    A single statement is its own transaction, READ COMMITTED; reads run on connections that
    refuse to write. Statements have `?` for their parameters, as on every database.
    """

    def __init__(
        self, place: PostgresPlace, durability: Literal["normal", "full"], case: str
    ) -> None:
        """Use `open`. Args: `case`: the collation for upper and lower case."""
        self._case = case
        self._readers = Pool(lambda: connect(place, reads=True), _READERS)
        self._writers = Pool(lambda: connect(place, durability=durability), _WRITERS)
        self._texts: dict[str, Text] = {}
        self._columns: dict[tuple[str, str], tuple[str, ...]] = {}

    @classmethod
    async def open(
        cls, place: PostgresPlace, *, durability: Literal["normal", "full"] = "normal"
    ) -> Postgres:
        """Open a schema.

        Raises:
            DatabaseError: it cannot be reached, or is too old or has another encoding.
        """
        try:
            connection = await connect(place, reads=True)
        except ERRORS as error:
            # PostgreSQL names a wrong password itself; other messages might contain the URL
            words = str(error) if isinstance(error, asyncpg.PostgresError) else _named(error)
            hint = "check that the server is running, and that DATABASE_URL points to it"
            raise DatabaseError(f"cannot open {place}: {words}", hint=hint) from None
        database = cls(place, durability, case_collation(connection))
        await connection.close()
        return database

    async def read(self, sql: str, parameters: Sequence[object] = ()) -> Rows:
        """Return the rows of a statement that does not write.

        Raises:
            FlowError: it writes, is invalid, or finds more than MOST_ROWS rows.
            StatementTimeout: it searches texts, and takes too long.
            Unavailable: the server cannot be reached.
        """
        text = self._texts.get(sql) or self.text(sql)

        async def work(connection: Connection) -> Rows:
            if text.is_long:
                async with connection.transaction(readonly=True):
                    await connection.execute(SOON)
                    return await run(connection, text, parameters)
            rows: Rows = await connection.fetch(text.sql, *parameters)
            return rows

        try:
            return bounded_rows(await self._on(self._readers, work))
        except ERRORS as error:
            if not is_lost(error):
                raise await self._reading_failure(error, sql) from None
        return bounded_rows(await self._again(work, sql))

    async def write(
        self, sql: str, parameters: Sequence[object] = (), *, at_most: int | None = None
    ) -> Rows:
        """Run one statement in a transaction of its own and return its RETURNING rows.

        Raises:
            DatabaseFailure: a row breaks a rule of its table.
            FlowError: the statement is wrong, or returned more than `at_most` rows.
            Unavailable: the server cannot be reached, or cannot write.
        """
        if at_most is not None:
            return (await self.write_all([(sql, parameters)], at_most=at_most))[0]
        text = self._texts.get(sql) or self.text(sql)
        if text.is_long:
            return (await self.write_all([(sql, parameters)]))[0]

        async def work(connection: Connection) -> Rows:
            return await run(connection, text, parameters)

        return await self._write(work, sql)

    async def change(self, sql: str, parameters: Sequence[object] = ()) -> int:
        """Run one statement without RETURNING and return how many rows it changed."""
        return int((await self.write(sql, parameters))[0][0])

    async def write_all(self, statements: Statements, *, at_most: int | None = None) -> list[Rows]:
        """Run the statements in one transaction and return each one's rows; raises as `write`."""
        texts = [(self.text(sql), parameters) for sql, parameters in statements]
        current = ""

        async def work(connection: Connection) -> list[Rows]:
            nonlocal current
            results = list[Rows]()
            async with connection.transaction():
                for text, parameters in texts:
                    current = text.sql
                    given = parameters(results) if callable(parameters) else parameters
                    results.append(await run_in_time(connection, text, given, at_most))
            return results

        return await self._write(work, lambda: current)

    async def rows(
        self, sql: str, parameters: Sequence[object] = (), *, writes: bool = False
    ) -> Maps:
        """Return the rows of a statement as maps; raises as `read` and `write`."""
        text = self.text(sql)

        async def work(connection: Connection) -> Maps:
            async with connection.transaction(readonly=not writes):
                await connection.execute(SOON)
                return await bounded_maps(connection, text, parameters)

        if writes:
            return await self._write(work, sql)
        try:
            return await self._on(self._readers, work)
        except ERRORS as error:
            raise await self._reading_failure(error, sql) from None

    def transaction(self) -> PostgresTransaction:
        """Return a serializable transaction for several statements, to be used in `async with`.

        It raises Conflict after a conflict with another transaction; then all of it may be retried.
        """
        return PostgresTransaction(self._writers, self.text, self.columns_of)

    async def prepare(self, sql: str) -> None:
        """Compile a statement against the live schema without running it.

        Raises:
            DatabaseError: with PostgreSQL's own message.
        """
        try:
            text = self.text(sql)
            await self._on(self._readers, lambda connection: connection.prepare(text.sql))
        except Failure as error:
            raise DatabaseError(error.message) from None
        except ERRORS as error:
            raise DatabaseError(str(error).partition("\n")[0]) from None

    async def close(self) -> None:
        """Finish pending statements, then close; a second call does nothing."""
        await self._readers.close()
        await self._writers.close()

    # ---- for its transactions, too
    def text(self, sql: str) -> Text:
        """Return a statement in the server's form; raises FlowError if it is not allowed."""
        found = self._texts.get(sql)
        if found is None:
            found = translate(sql, self._case)
            if len(self._texts) >= _MOST_TEXTS:
                self._texts.clear()
            self._texts[sql] = found
        return found

    async def columns_of(self, table: str, rule: str) -> tuple[str, ...]:
        """Return the columns of a table's rule, in its order; none if they cannot be read."""
        known = self._columns.get((table, rule))
        if known is None:
            with suppress(*ERRORS, Failure):
                rows = await self._on(
                    self._readers, lambda connection: connection.fetch(COLUMNS, quote(table), rule)
                )
                known = self._columns[table, rule] = tuple(row[0] for row in rows)
        return known or ()

    # ---- connections
    async def _on(self, pool: Pool, work: Work[T]) -> T:
        connection = await pool.take()
        try:
            found = await work(connection)
        except asyncio.CancelledError:
            pool.repair(connection)
            raise
        except BaseException:
            pool.give(connection)
            raise
        pool.give(connection)
        return found

    async def _write(self, work: Work[T], sql: str | Callable[[], str]) -> T:
        """Run a transaction; after a conflict with another one it is retried."""
        for attempt in range(_MOST_ATTEMPTS):
            try:
                return await self._on(self._writers, work)
            except ERRORS as error:
                if is_conflict(error) and attempt + 1 < _MOST_ATTEMPTS:
                    continue
                text = sql if isinstance(sql, str) else sql()
                raise await failure_of(error, text, self.columns_of) from None
        raise AssertionError("the last attempt returns or raises")

    async def _again(self, work: Work[T], sql: str) -> T:
        """Retry a read: the server may be back, and the connection just did not know."""
        try:
            return await self._on(self._readers, work)
        except ERRORS as error:
            raise await self._reading_failure(error, sql) from None

    async def _reading_failure(self, error: Exception, sql: str) -> Exception:
        if isinstance(error, asyncpg.ReadOnlySQLTransactionError):
            return FlowError("the statement writes, expected one that reads")
        return await failure_of(error, sql, self.columns_of)


def _named(error: Exception) -> str:
    return error.strerror or "it is not responding" if isinstance(error, OSError) else "wrong URL"
