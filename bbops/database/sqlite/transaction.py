"""Transactions of several statements, on a connection and a thread of their own."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Final, Literal, Self, TypeVar

from bbops.database.sqlite.author_sql import complaint, restrict
from bbops.database.sqlite.connection import connect
from bbops.database.sqlite.functions import bound_functions
from bbops.database.sqlite.gate import Gate
from bbops.database.sqlite.limits import LONGEST_VALUE_BYTES, OWN_VALUE_BYTES
from bbops.database.sqlite.off_loop import Watch
from bbops.database.sqlite.results import Maps, Rows, maps, take_rows
from bbops.database.sqlite.violations import ERRORS, failure_of
from bbops.database.sqlite.writer import Clock, Statements, run_in_savepoint, savepoint
from bbops.runtime.values.failures import FlowError

T = TypeVar("T")
_MOST_ADMITTED: Final = 4_096


class Transactions:
    """The transactions of one process, one after the other: SQLite allows one writer.

    The thread holds the gate from BEGIN to COMMIT, so that the event loop never waits for it, and
    other writers cannot interfere. Both are created with the first transaction.
    """

    def __init__(
        self, path: Path, durability: Literal["normal", "full"], admit: Callable[[str], object]
    ) -> None:
        """Args: `admit` refuses statements that are not allowed in transactions."""
        self._path, self._durability, self.admit = path, durability, admit
        self._admitted: set[str] = set()
        self._thread = ThreadPoolExecutor(1, "bbops-transaction")
        self.turn = asyncio.Lock()
        self._gate: Gate | None = None
        self._connection: sqlite3.Connection | None = None
        self._is_ours = False

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run work on the connection, in the thread, after all earlier work."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, lambda: work(self._open()))

    def begin(self, connection: sqlite3.Connection) -> None:
        """Wait for the gate, then begin."""
        assert self._gate is not None  # noqa: S101 - opened with the connection
        self._gate.take()
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            self._gate.release()
            raise failure_of(error, connection) from None
        self._is_ours = True

    def end(self, connection: sqlite3.Connection, *, commit: bool) -> None:
        """Commit or undo, then release the gate. Without a transaction it does nothing."""
        if not self._is_ours or self._gate is None:
            return
        try:
            if commit:
                connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise failure_of(error, connection) from None
        finally:
            self._is_ours = False
            try:
                connection.rollback()  # does nothing after a commit
            finally:
                self._gate.release()

    async def leave(self, *, commit: bool) -> None:
        """End the transaction and its turn, also if its waiter is cancelled meanwhile."""
        ending = asyncio.ensure_future(self.run(lambda found: self.end(found, commit=commit)))
        ending.add_done_callback(lambda _: self.turn.release())
        await asyncio.shield(ending)

    def admit_own(self, sql: str) -> None:
        """Refuse an author's statement that uses a forbidden name; in the thread.

        The allowed names do not change while a release serves, so it is checked once.

        Raises:
            FlowError: it uses one.
        """
        if sql in self._admitted:
            return
        with closing(connect(self._path, reads=True, bounded=True)) as connection:
            problem = complaint(connection, restrict(connection), sql)
        if problem:
            raise FlowError(f"the statement failed: {problem}")
        if len(self._admitted) >= _MOST_ADMITTED:
            self._admitted.clear()
        self._admitted.add(sql)

    def close(self) -> None:
        """Wait for the thread, then close. Blocks."""
        self._thread.shutdown()
        if self._connection is not None:
            self._connection.close()
        if self._gate is not None:
            self._gate.close()

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self._gate = Gate(self._path)
            self._connection = connect(self._path, durability=self._durability, bounded=True)
            bound_functions(self._connection)
        return self._connection


class SqliteTransaction:
    """One transaction, used in `async with`: commits at its end, and is undone by an error.

    It is the `Database` of the steps inside. A cancelled statement may or may not have happened, so
    the whole can then only be undone.
    """

    def __init__(self, of: Transactions) -> None:
        self._of = of
        self._is_lost = False

    async def __aenter__(self) -> Self:
        await self._of.turn.acquire()
        try:
            await self._of.run(self._of.begin)
        except BaseException:
            await self._of.leave(commit=False)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        is_lost, self._is_lost = self._is_lost, True
        await self._of.leave(commit=error is None and not is_lost)
        if error is None and is_lost:
            raise FlowError("the transaction was rolled back: one of its steps was interrupted")

    async def read(self, sql: str, parameters: Sequence[object] = ()) -> Rows:
        """Return the rows of a statement that changes nothing; it sees the changes before it."""

        def work(connection: sqlite3.Connection, clock: Clock) -> Rows:
            with clock, closing(connection.execute(sql, parameters)) as cursor:
                return take_rows(cursor)

        return await self._run(sql, parameters, work)

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
        for sql, _ in statements:
            self._of.admit(sql)

        def work(connection: sqlite3.Connection, clock: Clock) -> list[Rows]:
            return run_in_savepoint(connection, clock, statements, at_most)

        return await self._run("", (), work)

    async def rows(
        self, sql: str, parameters: Sequence[object] = (), *, writes: bool = False
    ) -> Maps:
        """Return the rows of a statement as maps; see `Database.rows`."""

        def work(connection: sqlite3.Connection, clock: Clock) -> Maps:
            self._of.admit_own(sql)
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, OWN_VALUE_BYTES)
            connection.execute(f"PRAGMA query_only = {'OFF' if writes else 'ON'}")
            try:
                with (
                    savepoint(connection),
                    clock,
                    closing(connection.execute(sql, parameters)) as cursor,
                ):
                    return maps(cursor)
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode == sqlite3.SQLITE_READONLY and not writes:
                    raise FlowError("the statement writes, expected one that reads") from None
                raise
            finally:
                connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE_BYTES)
                connection.execute("PRAGMA query_only = OFF")

        self._of.admit(sql)
        return await self._run(sql, parameters, work)

    def transaction(self) -> SqliteTransaction:
        """Refuse a nested transaction, which the check refuses already.

        Raises:
            FlowError: always.
        """
        raise FlowError("a transaction cannot begin inside another one")

    async def _run(
        self, sql: str, parameters: Sequence[object], work: Callable[[sqlite3.Connection, Clock], T]
    ) -> T:
        if self._is_lost:
            raise FlowError("the transaction is over")
        watch = Watch(asyncio.get_running_loop())

        def work_in_time(connection: sqlite3.Connection) -> T:
            try:
                return work(connection, watch.on(connection))
            except ERRORS as error:
                raise failure_of(error, connection, sql, parameters) from None
            finally:
                self._is_lost = self._is_lost or not connection.in_transaction

        try:
            with watch.wait():
                return await self._of.run(work_in_time)
        except asyncio.CancelledError:
            self._is_lost = True
            raise
