"""Run statements on a SQLite file without blocking the event loop for long.

Short statements run on the loop itself, which costs a fifth of a thread's handover. Searches in
texts, and an author's own SQL, never do; see `limits` for the bounds of each.
"""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import Sequence
from contextlib import ExitStack
from math import inf
from pathlib import Path
from typing import Final, Literal

from bbops.base.errors import DatabaseError
from bbops.database.sqlite.connection import connect
from bbops.database.sqlite.gate import Gate
from bbops.database.sqlite.limits import INLINE_SECONDS, OPERATIONS_PER_LOOK, Deadline, Overruns
from bbops.database.sqlite.off_loop import OffLoop, reading_failure
from bbops.database.sqlite.results import Maps, Rows, bounded_rows, maps, take_rows
from bbops.database.sqlite.transaction import SqliteTransaction, Transactions
from bbops.database.sqlite.violations import (
    ERRORS,
    compile_error,
    failure_of,
    is_interrupted,
    is_passing,
    is_undecodable,
)
from bbops.database.sqlite.writer import Statements, Turn, Writer, run_alone
from bbops.runtime.data.rows import MOST_ROWS
from bbops.runtime.values.failures import FlowError

_MOST_ADMITTED: Final = 4_096
_FIRST_WORD: Final = re.compile(r"(?:\s|--[^\n]*\n|/\*.*?\*/)*([a-z]+)", re.DOTALL | re.IGNORECASE)
# The others would leave the file (ATTACH, VACUUM INTO), our transactions, or our settings.
_VERBS: Final = frozenset(
    {"select", "values", "with", "insert", "replace", "update", "delete"}
    | {"create", "alter", "drop", "explain"}
)
_WHOLE_VERBS: Final = frozenset({"insert", "update", "delete"})
# INSERT OR FAIL keeps the rows before the failing one, unless a transaction is around it.
_MAY_END_HALFWAY: Final = re.compile(r"\bfail\b", re.IGNORECASE)


# One operation of SQLite may take long here, and cannot be interrupted: texts are searched, or all
# pages of a table freed. An author's SQL never runs here.
_LONG: Final = re.compile(
    r"\b(?:bbops_)?(?:instr|replace)\(|\bsubstr\(CAST\(|\ADELETE FROM \S+\Z", re.IGNORECASE
)


class Sqlite:
    """One database file, for one event loop of one process. Open it after a fork, never before.

    Reads run on the loop; a read that exceeds its budget starts again in a thread. Writes run on
    the loop if the gate is free at once, else (and always with durability `full`) they wait in a
    thread. Statements with long operations run in a thread from the beginning. Every write is a
    transaction; a cancelled write happens wholly or not at all.
    """

    def __init__(
        self, path: Path, durability: Literal["normal", "full"], loop: asyncio.AbstractEventLoop
    ) -> None:
        """Use `open`: this blocks."""
        self._path = path
        self._loop = loop
        self._writes_inline = durability == "normal"
        self._reading, self._writing = Deadline(INLINE_SECONDS), Deadline(INLINE_SECONDS)
        with ExitStack() as opened:
            self._gate = Gate(path)
            opened.callback(self._gate.close)
            with self._gate:
                connect(path, create=True).close()  # waits for locks; the log may need recovery
                self._inline = self._connect(opened, self._writing, reads=False)
                self._reader = self._connect(opened, self._reading, reads=True)
                self._reader.text_factory = str  # costs less; `_slow` reads what it cannot decode
            self._turn = Turn(self._inline, self._gate, loop)
            self._writer = Writer(path, durability, loop)
            self._transactions = Transactions(path, durability, self._admit)
            self._opened = opened.pop_all()
        self._slow = OffLoop(path, loop, is_own=False)
        self._own = OffLoop(path, loop, is_own=True)
        self._admitted: set[str] = set()
        self._long: set[str] = set()
        self._whole: set[str] = set()
        self._overruns = Overruns()
        self._is_closed = False

    @classmethod
    async def open(cls, path: Path, *, durability: Literal["normal", "full"] = "normal") -> Sqlite:
        """Open the file, or create it. `full`: a commit survives a power cut; costs a disk flush.

        Raises:
            DatabaseError: SQLite is too old, or the file cannot be used.
        """
        loop = asyncio.get_running_loop()
        return await asyncio.to_thread(cls, path, durability, loop)

    async def read(self, sql: str, parameters: Sequence[object] = ()) -> Rows:
        """Return the rows of a statement that does not write.

        Raises:
            FlowError: it writes, is invalid, or finds more than MOST_ROWS rows.
            DatabaseError: the file cannot be read.
        """
        if sql not in self._admitted and self._admit(sql):
            return await self._slow.read(sql, parameters, take_rows)
        if self._overruns and self._overruns.take(sql):
            return await self._slow.read(sql, parameters, take_rows)
        self._reading.until = 0.0  # as `begin`, without the call
        try:
            rows = self._reader.execute(sql, parameters).fetchmany(MOST_ROWS + 1)
        except ERRORS as error:
            if not is_passing(error) and not is_undecodable(error):
                raise reading_failure(error, self._reader, sql) from None
            self._note(error, sql)
            return await self._slow.read(sql, parameters, take_rows)
        return bounded_rows(rows)

    async def write(
        self, sql: str, parameters: Sequence[object] = (), *, at_most: int | None = None
    ) -> Rows:
        """Run one statement in a transaction of its own and return its RETURNING rows.

        Raises:
            DatabaseFailure: a row breaks a rule of its table.
            FlowError: the statement is wrong, or returned more than `at_most` rows.
            DatabaseError: the file cannot be written.
        """
        if sql not in self._admitted:
            self._admit(sql)
        is_whole = at_most is None and sql in self._whole and (sql,) not in self._overruns
        if is_whole and self._writes_inline and self._writer.is_idle:
            if self._turn.is_crowded():
                return await self._write_with_others(sql, parameters)
            if self._gate.try_take():
                try:
                    return self._write_whole(sql, parameters)
                except ERRORS as error:
                    self._note(error, sql)  # nothing was written; a transaction finds the cause
                finally:
                    self._gate.release()
        return (await self.write_all([(sql, parameters)], at_most=at_most))[0]

    async def change(self, sql: str, parameters: Sequence[object] = ()) -> int:
        """Run one statement without RETURNING and return how many rows it changed."""
        return int((await self.write(sql, parameters))[0][0])

    async def write_all(self, statements: Statements, *, at_most: int | None = None) -> list[Rows]:
        """Run the statements in one transaction and return each one's rows; raises as `write`."""
        may_be_long = False
        for sql, _ in statements:
            if sql not in self._admitted and self._admit(sql):
                may_be_long = True
        if self._overruns and self._overruns.take(*(sql for sql, _ in statements)):
            may_be_long = True
        if not may_be_long and self._may_write_now():
            try:
                return self._write_inline(statements, at_most)
            except sqlite3.Error as error:
                # it takes too long for the loop, or a lock is in its way
                self._note(error, *(sql for sql, _ in statements))
            finally:
                self._gate.release()
        return await self._writer.submit(statements, at_most)

    async def rows(
        self, sql: str, parameters: Sequence[object] = (), *, writes: bool = False
    ) -> Maps:
        """Return the rows of a statement as maps; raises as `read` and `write`."""
        if writes:
            async with self.transaction() as transaction:
                return await transaction.rows(sql, parameters, writes=True)
        self._admit(sql)
        return await self._own.read(sql, parameters, maps)

    def transaction(self) -> SqliteTransaction:
        """Return a transaction for several statements, to be used in `async with`."""
        return SqliteTransaction(self._transactions)

    async def prepare(self, sql: str) -> None:
        """Compile a statement against the live schema without running it.

        Raises:
            DatabaseError: with SQLite's own message.
        """
        try:
            self._admit(sql)
        except FlowError as error:
            raise DatabaseError(error.message) from None
        self._reading.begin()
        words = compile_error(self._reader, sql)
        if words:
            raise DatabaseError(words)

    async def close(self) -> None:
        """Finish pending statements, then close; a second call does nothing."""
        if not self._is_closed:
            self._is_closed = True
            self._admitted.clear()  # so that every statement is examined, and refused
            self._long.clear()
            self._turn.end()
            await asyncio.to_thread(self._close)

    def _close(self) -> None:
        self._slow.close()
        self._own.close()
        self._writer.close()
        self._transactions.close()
        self._gate.take()  # the last connection checkpoints as it closes
        self._opened.close()

    def _connect(self, opened: ExitStack, deadline: Deadline, *, reads: bool) -> sqlite3.Connection:
        connection = connect(self._path, reads=reads, wait_seconds=0, bounded=True)
        opened.callback(connection.close)
        connection.set_progress_handler(deadline, OPERATIONS_PER_LOOK)
        return connection

    def _may_write_now(self) -> bool:
        """Take the gate, if writes may run on the loop and the gate is free."""
        self._turn.end()
        return self._writes_inline and self._writer.is_idle and self._gate.try_take()

    def _write_whole(self, sql: str, parameters: Sequence[object]) -> Rows:
        """Run a statement as its own transaction, a third cheaper than BEGIN and COMMIT.

        It is committed as its last row is fetched, which nothing interrupts.
        """
        before = self._inline.total_changes
        self._writing.until = 0.0  # as `with self._writing`, without its calls
        try:
            try:
                cursor = self._inline.execute(sql, parameters)
            finally:
                self._writing.until = inf
        except sqlite3.OperationalError as error:
            if is_interrupted(error) and (changed := self._count_changed(before)):
                return [(changed,)]
            raise
        return cursor.fetchall() if cursor.description else [(cursor.rowcount,)]

    def _count_changed(self, before: int) -> int:
        """Return how many rows an interrupted statement has changed anyway.

        SQLite checks the clock a last time after a statement without rows is done. Both counts are
        needed: changes() belongs to an earlier statement if this one did not compile, and the total
        includes undone changes of cascades.
        """
        if self._inline.total_changes == before:
            return 0
        return int(self._inline.execute("SELECT changes()").fetchone()[0])

    async def _write_with_others(self, sql: str, parameters: Sequence[object]) -> Rows:
        """Run a statement in the transaction of this turn of the loop, or else in the thread."""
        if self._turn.join():
            outcome = self._try_in_turn(sql, parameters)
            if outcome is not None and await self._turn.is_committed():
                if isinstance(outcome, Exception):
                    raise outcome
                return outcome
        return (await self._writer.submit([(sql, parameters)], None))[0]

    def _try_in_turn(self, sql: str, parameters: Sequence[object]) -> Rows | Exception | None:
        """Return rows, or the caller's error; None if a thread must try it."""
        try:
            return self._write_whole(sql, parameters)
        except ERRORS as error:
            self._note(error, sql)
            if is_passing(error) or self._turn.is_undone:
                self._turn.end()  # its writers write again, and so does this one
                return None
            return failure_of(error, self._inline, sql, parameters)

    def _write_inline(self, statements: Statements, at_most: int | None) -> list[Rows]:
        return run_alone(self._inline, self._writing, statements, at_most)

    def _note(self, error: Exception, *texts: str) -> None:
        """Remember statements that were too long for the loop; ignore other errors."""
        if is_interrupted(error):
            self._overruns.note(*texts)

    def _admit(self, sql: str) -> bool:
        """Return whether a statement may contain a long operation.

        Raises:
            FlowError: it is not allowed at all.
        """
        if sql in self._long:
            return True
        if self._is_closed:
            raise DatabaseError("the database is closed")
        verb = _FIRST_WORD.match(sql)
        if verb is None or verb[1].lower() not in _VERBS:
            found = f"'{verb[1]}'" if verb else "none"
            raise FlowError(f"expected a statement that reads or writes rows, found {found}")
        if len(self._admitted) + len(self._long) >= _MOST_ADMITTED:
            self._admitted.clear()
            self._long.clear()
            self._whole.clear()
        if _LONG.search(sql):
            self._long.add(sql)
            return True
        self._admitted.add(sql)
        if verb[1].lower() in _WHOLE_VERBS and not self._may_end_halfway(sql):
            self._whole.add(sql)
        return False

    def _may_end_halfway(self, sql: str) -> bool:
        """Return whether the statement, a table or a trigger may keep the rows before a failure.

        A table of another program may; ours never do.
        """
        self._reading.begin()
        query = "SELECT sql FROM sqlite_master WHERE sql LIKE '%fail%'"
        try:
            texts = [sql, *(text for (text,) in self._reader.execute(query))]
        except sqlite3.Error:
            return True  # a transaction around it is right in any case
        return any(_MAY_END_HALFWAY.search(text) for text in texts)
