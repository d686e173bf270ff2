"""Writes in transactions: alone, many in one commit, or one for a turn of the loop."""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from bbops.base.host import Parameters
from bbops.base.render import plural
from bbops.database.sqlite.connection import connect
from bbops.database.sqlite.gate import Gate
from bbops.database.sqlite.off_loop import Watch
from bbops.database.sqlite.results import Rows
from bbops.database.sqlite.violations import ERRORS, failure_of, is_interrupted, is_passing
from bbops.runtime.values.failures import FlowError, StatementTimeout

Statements = Sequence[tuple[str, Parameters]]
Clock = contextlib.AbstractContextManager[None]
"""A context that ends the statements of its block if they take too long."""

_MOST_IN_A_BATCH: Final = 256
_CHECKPOINT_BYTES: Final = 4 << 20
_LOOK_SECONDS: Final = 0.25
_LONGEST_LOOK_SECONDS: Final = 2.0
"""The longest pause between two checks of the log; idle pauses grow: a wake costs 0.1 ms."""


def run_alone(
    connection: sqlite3.Connection, clock: Clock, statements: Statements, at_most: int | None
) -> list[Rows]:
    """Run statements in a transaction of their own and return each one's rows.

    A statement without rows gives one row: the number of changed rows. `clock` ends the statements,
    and neither BEGIN nor COMMIT.

    Raises:
        sqlite3.Error: only temporary errors, see `is_passing`; nothing was written.
        Failure: nothing was written.
    """
    try:
        connection.execute("BEGIN IMMEDIATE")
        results = _run(connection, clock, statements, at_most)
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        connection.rollback()
        if is_passing(error):
            raise
        raise failure_of(error, connection) from None
    except BaseException:
        connection.rollback()  # does nothing if the error has ended the transaction
        raise
    return results


def _run(
    connection: sqlite3.Connection, clock: Clock, statements: Statements, at_most: int | None
) -> list[Rows]:
    results = list[Rows]()
    with clock:
        for sql, parameters in statements:
            given = parameters(results) if callable(parameters) else parameters
            results.append(_run_one(connection, sql, given, at_most))
    return results


def _run_one(
    connection: sqlite3.Connection, sql: str, parameters: Sequence[object], at_most: int | None
) -> Rows:
    try:
        cursor = connection.execute(sql, parameters)
        rows = cursor.fetchall() if cursor.description else [(cursor.rowcount,)]
    except ERRORS as error:
        if is_passing(error):
            raise
        raise failure_of(error, connection, sql, parameters) from None
    if at_most is not None and len(rows) > at_most:
        most = plural(at_most, "row")
        raise FlowError(f"expected at most {most} to change, found {len(rows)}")
    return rows


@dataclass(frozen=True, slots=True)
class _Job:
    statements: Statements
    at_most: int | None
    answer: asyncio.Future[list[Rows]]


_Outcome = tuple[_Job, list[Rows] | Exception]


class _SharedLostError(Exception):
    """The clock ended a job, and with it the transaction that others shared."""

    def __init__(self, late: _Outcome) -> None:
        super().__init__()
        self.late = late


class Writer:
    """A thread with its own connection and gate; it also empties the write-ahead log in time.

    Jobs that wait together share a commit, each in a savepoint: a failed one affects no others.
    """

    def __init__(
        self,
        path: Path,
        durability: Literal["normal", "full"],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        """Start the thread. Answers go to `loop`."""
        self._log = Path(f"{path}-wal")
        self._log_seen = self._looked = 0
        self._loop = loop
        self._gate = Gate(path)
        self._connection = connect(path, durability=durability, bounded=True)
        self._watch = Watch(loop)
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._waiting = 0
        self._thread = threading.Thread(target=self._serve, name="bbops-writer", daemon=True)
        self._thread.start()

    @property
    def is_idle(self) -> bool:
        """Whether the thread has nothing to do; ask on the loop only."""
        return self._waiting == 0

    async def submit(self, statements: Statements, at_most: int | None) -> list[Rows]:
        """Run the statements in one transaction and return each one's rows.

        A cancelled caller may find its rows written: a started job is finished.
        """
        answer: asyncio.Future[list[Rows]] = self._loop.create_future()
        if self.is_idle:
            self._watch.start()
        self._waiting += 1
        self._jobs.put(_Job(statements, at_most, answer))
        return await answer

    def close(self) -> None:
        """Finish every submitted job, then end the thread. Blocks."""
        self._jobs.put(None)
        self._thread.join()
        with self._gate:  # the last connection checkpoints as it closes
            self._connection.close()
        self._gate.close()

    def _serve(self) -> None:
        pause = _LOOK_SECONDS
        while True:
            try:
                job = self._jobs.get(timeout=pause)
            except queue.Empty:
                has_grown = self._checkpoint()
                pause = _LOOK_SECONDS if has_grown else min(2 * pause, _LONGEST_LOOK_SECONDS)
                continue
            if job is None:
                return
            pause = _LOOK_SECONDS
            self._answer(job)
            self._checkpoint()

    def _answer(self, first: _Job) -> None:
        jobs = [first]
        try:
            with self._gate:
                jobs += self._take_waiting()
                outcomes = self._commit([job for job in jobs if not job.answer.cancelled()])
        except Exception as error:  # noqa: BLE001 - a caller must never wait for ever
            outcomes = [(job, error) for job in jobs]
        with contextlib.suppress(RuntimeError):  # the loop is gone, and the caller with it
            self._loop.call_soon_threadsafe(self._settle, len(jobs), outcomes)

    def _settle(self, done: int, outcomes: list[_Outcome]) -> None:
        self._waiting -= done
        if self.is_idle:
            self._watch.stop()
        for job, outcome in outcomes:
            if job.answer.done():
                continue
            if isinstance(outcome, Exception):
                job.answer.set_exception(outcome)
            else:
                job.answer.set_result(outcome)

    def _take_waiting(self) -> list[_Job]:
        jobs: list[_Job] = []
        while len(jobs) < _MOST_IN_A_BATCH:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                break
            if job is None:
                self._jobs.put(None)  # nothing follows it: close() comes after the last submit()
                break
            jobs.append(job)
        return jobs

    def _commit(self, jobs: list[_Job]) -> list[_Outcome]:
        if len(jobs) > 1:
            try:
                return self._commit_together(jobs)
            except _SharedLostError as lost:
                alone = [job for job in jobs if job is not lost.late[0]]
                return [lost.late, *((job, self._attempt(run_alone, job)) for job in alone)]
            except sqlite3.Error as error:
                self._connection.rollback()
                # each would wait equally long for the same lock
                if is_passing(error) and not is_interrupted(error):
                    return [(job, failure_of(error, self._connection)) for job in jobs]
        return [(job, self._attempt(run_alone, job)) for job in jobs]

    def _commit_together(self, jobs: list[_Job]) -> list[_Outcome]:
        self._connection.execute("BEGIN IMMEDIATE")
        outcomes = []
        for job in jobs:
            outcomes.append((job, self._attempt(run_in_savepoint, job)))
            if not self._connection.in_transaction:
                # it ended the transaction of all, as INSERT OR ROLLBACK does; a savepoint
                # would now begin a new one
                if isinstance(outcomes[-1][1], StatementTimeout):
                    raise _SharedLostError(outcomes[-1])
                raise sqlite3.OperationalError("the shared transaction is lost")
        self._connection.execute("COMMIT")
        return outcomes

    def _attempt(self, run: Callable[..., list[Rows]], job: _Job) -> list[Rows] | Exception:
        try:
            clock = self._watch.on(self._connection)
            return run(self._connection, clock, job.statements, job.at_most)
        except sqlite3.Error as error:
            return failure_of(error, self._connection)
        except Exception as error:  # noqa: BLE001 - it belongs to the caller, and reaches it
            return error

    def _checkpoint(self) -> bool:
        """Move the log into the database once it is long and has grown since the last time.

        Returns:
            Whether there was a write since the last check.
        """
        try:
            log = self._log.stat()
        except OSError:
            return False
        has_grown, self._looked = log.st_mtime_ns != self._looked, log.st_mtime_ns
        if log.st_size < _CHECKPOINT_BYTES or log.st_mtime_ns == self._log_seen:
            return has_grown
        self._flush_log()
        with self._gate, contextlib.suppress(sqlite3.Error):
            self._connection.execute("PRAGMA busy_timeout = 0")  # never wait for a long reader
            try:
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            finally:
                self._connection.execute("PRAGMA busy_timeout = 5000")
        self._log_seen = log.st_mtime_ns
        return True

    def _flush_log(self) -> None:
        """Wait for the disk before taking the gate: half of what a checkpoint waits for."""
        with contextlib.suppress(OSError):
            log = os.open(self._log, os.O_RDWR)
            try:
                os.fsync(log)
            finally:
                os.close(log)


def run_in_savepoint(
    connection: sqlite3.Connection, clock: Clock, statements: Statements, at_most: int | None
) -> list[Rows]:
    """Run statements inside a transaction, all of them or none; raises as `run_alone` does."""
    with savepoint(connection):
        return _run(connection, clock, statements, at_most)


@contextlib.contextmanager
def savepoint(connection: sqlite3.Connection) -> Iterator[None]:
    """Undo the writes of a failed block, and leave the transaction around it."""
    connection.execute("SAVEPOINT job")
    try:
        yield
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK TO job")
            connection.execute("RELEASE job")
        raise
    connection.execute("RELEASE job")


MOST: Final = 256
"""Writes that share one commit."""


class Turn:
    """An open transaction on the loop's own connection, committed when the loop turns.

    A commit costs as much as a few inserts; concurrent clients share it. A single write commits
    alone, which is cheaper and sooner: `is_crowded` decides.

    For one loop. Writes report success or failure only after `is_committed`.
    """

    def __init__(
        self, connection: sqlite3.Connection, gate: Gate, loop: asyncio.AbstractEventLoop
    ) -> None:
        """Take a connection in autocommit mode, and the gate of its file."""
        self._connection, self._gate, self._loop = connection, gate, loop
        self._waiting: list[asyncio.Future[bool]] = []
        self._is_open = False
        self._writes = self._before = 0

    def is_crowded(self) -> bool:
        """Count a write; return whether its turn has other writes, as far as known."""
        if not self._writes:
            self._loop.call_soon(self._turn)
        self._writes += 1
        return self._writes > 1 or self._before > 1

    @property
    def is_undone(self) -> bool:
        """Whether a statement has undone everything, as a full disk does."""
        return self._is_open and not self._connection.in_transaction

    def join(self) -> bool:
        """Join the turn's transaction; return False if another process prevents it."""
        if self._is_open and not self.is_undone and len(self._waiting) < MOST:
            return True
        self.end()
        if not self._gate.try_take():
            return False
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except sqlite3.Error:
            self._gate.release()
            return False
        self._is_open = True
        return True

    def is_committed(self) -> asyncio.Future[bool]:
        """Return a future: whether the writes of this turn are committed, all or none."""
        done: asyncio.Future[bool] = self._loop.create_future()
        self._waiting.append(done)
        return done

    def end(self) -> None:
        """Commit the writes so far, if there are any."""
        if not self._is_open:
            return
        self._is_open = False
        waiting, self._waiting = self._waiting, []
        is_committed = self._commit()
        for done in waiting:
            if not done.done():  # otherwise its request was cancelled
                done.set_result(is_committed)

    def _commit(self) -> bool:
        try:
            if not self._connection.in_transaction:
                return False  # an interrupted statement ended it, and undid all
            self._connection.execute("COMMIT")
        except sqlite3.Error:
            self._connection.rollback()
            return False
        finally:
            self._gate.release()
        return True

    def _turn(self) -> None:
        self._before, self._writes = self._writes, 0
        self.end()
