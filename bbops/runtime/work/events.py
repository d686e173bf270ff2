"""Emit events and enqueue jobs; the event log."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final

import msgspec

from bbops.base.host import Database, Parameters
from bbops.runtime.values.failures import JobFailure, Unavailable
from bbops.runtime.work.engine import now_ms
from bbops.runtime.work.jobs import cancel_job, enqueue_job, read_status
from bbops.runtime.work.sent_webhooks import fan_out_job
from bbops.runtime.work.statements import WorkDialect, emit, enqueue
from bbops.runtime.work.triggers import job_payload
from bbops.runtime.work.values import AT, DEEP, MAX_DEPTH, TOO_DEEP, Cause, NewJob, ProjectEvent

Rows = list[tuple[Any, ...]]
_MAX_CACHED: Final = 4_096


def unwrap(database: Any) -> Any:
    """Return the database without notifications, for writes that do not change a project's rows."""
    return database.door if isinstance(database, NotifyingDatabase) else database


class NotifyingDatabase:
    """A database that wakes workers after writes to tables with triggers. Reads cost the same.

    Workers also poll each second, so a missed wake-up delays a job by at most a second.

    Attributes:
        door: the database without notifications.
    """

    def __init__(self, door: Database, wake: Callable[[], None], tables: Collection[str]) -> None:
        """Args: `tables`: tables with triggers or topics."""
        self.door, self._wake, self._tables = door, wake, tables
        self._writes_cache = dict[str, bool]()
        self.read = door.read

    def _writes_table(self, sql: str) -> bool:
        writes = self._writes_cache.get(sql)
        if writes is None:
            if len(self._writes_cache) >= _MAX_CACHED:
                self._writes_cache.clear()
            writes = self._writes_cache[sql] = self._may_write_table(sql)
        return writes

    def _may_write_table(self, sql: str) -> bool:
        """Return whether a statement names one of the tables, or may cascade into it."""
        text = sql.lower()
        is_plain = text.startswith(("insert", "update"))
        return not is_plain or any(table.lower() in text for table in self._tables)

    async def write(
        self, sql: str, parameters: Sequence[object] = (), *, at_most: int | None = None
    ) -> Rows:
        """As `Database.write`."""
        rows = await self.door.write(sql, parameters, at_most=at_most)
        if self._writes_table(sql):
            self._wake()
        return rows

    async def change(self, sql: str, parameters: Sequence[object] = ()) -> int:
        """As `Database.change`."""
        count = await self.door.change(sql, parameters)
        if self._writes_table(sql):
            self._wake()
        return count

    async def write_all(self, statements: Sequence[tuple[str, Parameters]]) -> list[Rows]:
        """As `Database.write_all`."""
        rows = await self.door.write_all(statements)
        if any(self._writes_table(sql) for sql, _ in statements):
            self._wake()
        return rows

    async def rows(
        self, sql: str, parameters: Sequence[object] = (), *, writes: bool = False
    ) -> list[dict[str, Any]]:
        """As `Database.rows`."""
        rows = await self.door.rows(sql, parameters, writes=writes)
        if writes:
            self._wake()
        return rows

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[Database]:
        async with self.door.transaction() as transaction:
            yield transaction
        self._wake()

    def transaction(self) -> AbstractAsyncContextManager[Database]:
        """As `Database.transaction`."""
        return self._transaction()


MAX_READY: Final = 1_000_000
"""The most ready jobs, and the most outbox rows, of one project."""

CHECK_INTERVAL_MS: Final = 10_000
"""The time between two counts, whose cost grows with the number of jobs."""

_RETRY_SECONDS: Final = 60
_IS_FULL: Final = (
    "SELECT EXISTS (SELECT 1 FROM _bbops_jobs WHERE state = 'ready' LIMIT 1 OFFSET ?)"
    " OR (SELECT coalesce(max(id) - min(id), 0) FROM _bbops_outbox) >= ?"
)


class QueueLimit:
    """The limit of a project's queue."""

    def __init__(self, database: Database, now: Callable[[], int], limit: int = MAX_READY) -> None:
        self._database, self._now, self._limit = database, now, limit
        self._checked_at, self._is_full = -CHECK_INTERVAL_MS, False

    async def require(self) -> None:
        """Check that the queue has room.

        Raises:
            Unavailable: 503 `queueFull`.
        """
        now = self._now()
        if now - self._checked_at >= CHECK_INTERVAL_MS:
            self._checked_at = now
            rows = await self._database.read(_IS_FULL, (self._limit - 1, self._limit))
            self._is_full = bool(rows[0][0])
        if self._is_full:
            raise Unavailable(
                "queueFull", f"{self._limit:,} jobs wait to be run",
                hint="look for what they wait for with 'bbops jobs list'",
                retry_seconds=_RETRY_SECONDS,
            )  # fmt: skip


def _do_nothing() -> None:
    """Do not wake any worker."""


_encode = msgspec.json.Encoder(decimal_format="number").encode


class EventOutbox:
    """Writes events and jobs of steps into the outbox of a project."""

    def __init__(
        self, database: Database, dialect: WorkDialect, now: Callable[[], int],
        wake: Callable[[], None] = _do_nothing, *,
        cause: Cause = Cause(),  # noqa: B008 - frozen
        limit: QueueLimit | None = None,
    ) -> None:  # fmt: skip
        """Create an outbox.

        Args:
            database: the project's database, or one of its transactions.
            dialect: the SQL dialect of the database.
            now: returns the time in milliseconds since 1970.
            wake: is called when an event or a job has been committed.
            cause: the job that emits.
            limit: the limit of the queue; None for jobs, which also empty the queue.
        """
        self._database, self._dialect, self._now = database, dialect, now
        self._wake, self._cause, self._limit = wake, cause, limit

    async def emit(self, event: str, payload: Any, *, origin: str = "") -> None:
        """Write an event into the outbox. After the commit, it reaches its triggers.

        Raises:
            JobFailure: the chain of jobs is too long.
            Failure: the database rejected the write.
        """
        self._check_depth(f"event '{event}' is not emitted")
        await self.require_room()
        text = _encode(payload).decode()
        await self._database.write(*emit(event, text, self._now(), cause=self._cause_of(origin)))
        self._wake()

    async def enqueue(
        self, work: str, uid: str, payload: Any, *, delay_ms: int = 0, unique: str | None = None,
        origin: str = "",
    ) -> str:  # fmt: skip
        """Write a job into the outbox, see `Events.enqueue`.

        Raises:
            JobFailure: the chain of jobs is too long.
            Failure: the database rejected the write.
        """
        self._check_depth(f"no job of '{work}' is made")
        await self.require_room()
        now, text = self._now(), _encode(payload).decode()
        at = now + delay_ms if delay_ms else 0
        job = NewJob(uid, work, text, run_at=at, cause=self._cause_of(origin))
        job_uid = await enqueue_job(self._database, self._dialect, job, now, unique=unique)
        self._wake()
        return job_uid

    async def send(self, webhook: str, message: str, given: Mapping[str, Any]) -> None:
        """Write the job that sends a message to its receivers into the outbox, see `Events.send`.

        Raises:
            JobFailure: the chain of jobs is too long.
            Failure: the database rejected the write.
        """
        self._check_depth(f"nothing is sent to '{webhook}'")
        await self.require_room()
        job = fan_out_job(webhook, message, _encode(given).decode(), self._cause)
        await self._database.write(*enqueue(job, self._now()))
        self._wake()

    async def cancel(self, uid: str) -> bool:
        """Cancel a job that has not ended; return whether it existed."""
        is_cancelled = await cancel_job(self._database, self._dialect, uid, self._now)
        self._wake()
        return is_cancelled

    async def status(self, uid: str) -> Mapping[str, Any] | None:
        """Return state, attempts, result and error of a job; None if the job does not exist."""
        return await read_status(self._database, uid)

    async def require_room(self) -> None:
        """Check that the queue has room. Raises: Unavailable: 503 `queueFull`."""
        if self._limit is not None:
            await self._limit.require()

    def _cause_of(self, origin: str) -> Cause:
        """Return the cause of a step's events and jobs: its job or request, and its place."""
        job, depth = self._cause.job, self._cause.depth
        return Cause(f"{job}{AT}{origin}" if job and origin else job or origin, depth)

    def _check_depth(self, what: str) -> None:
        if self._cause.depth > MAX_DEPTH:
            raise JobFailure(DEEP, f"{what}: {TOO_DEEP}")

    def within(self, database: Database) -> EventOutbox:
        """Return the outbox of a transaction."""
        return _TransactionOutbox(
            database, self._dialect, self._now, self._wake, cause=self._cause, limit=self._limit
        )

    async def committed(self) -> None:
        """Wake the worker that waits for events."""
        self._wake()

    def notifying_database(self, tables: Collection[str]) -> Database:
        """Return the database with notifications: writes to these tables wake the worker."""
        return NotifyingDatabase(self._database, self._wake, tables)


class _TransactionOutbox(EventOutbox):
    def __init__(
        self, database: Database, dialect: WorkDialect, now: Callable[[], int],
        wake: Callable[[], None], *, cause: Cause, limit: QueueLimit | None,
    ) -> None:  # fmt: skip
        super().__init__(database, dialect, now, self._mark_written, cause=cause, limit=limit)
        self._has_written, self._wake_worker = False, wake

    def _mark_written(self) -> None:
        self._has_written = True

    async def committed(self) -> None:
        if self._has_written:
            self._wake_worker()


MAX_REPLAYED: Final = 10_000
"""The most events of one replay."""

_PAGE: Final = 200
_COLUMNS: Final = "seq, name, payload, at, key, cause, depth"


class EventLog:
    """Events of the last 7 days. Events about changed rows have no payload."""

    def __init__(
        self, database: Database, dialect: WorkDialect, *, now: Callable[[], int] = now_ms
    ) -> None:
        self._database, self._dialect, self._now = database, dialect, now

    async def emit(self, event: str, payload: str) -> None:
        """Emit an event."""
        await self._database.write_all([emit(event, payload, self._now())])

    async def count(self, events: Sequence[str], since: int) -> int:
        """Return the number of events with these names since a time in milliseconds."""
        parameters = json.dumps([*events]), since
        rows = await self._database.read(f"SELECT count(*) {self._since}", parameters)
        return int(rows[0][0])

    async def replay(self, work: str, events: Sequence[str], since: int, token: str) -> int:
        """Run a trigger again for events in their order; return the number of events.

        Args:
            work: the trigger, such as `triggers/paid`; its condition is checked again.
            events: the names of the events.
            since: a time in milliseconds.
            token: a part of the jobs' uids, unique to this replay.
        """
        count = 0
        async for page in self._pages(events, since):
            jobs = [_replay_job(work, event, token) for event in page]
            await self._database.write_all([enqueue(job, self._now()) for job in jobs])
            count += len(jobs)
        return count

    @property
    def _since(self) -> str:
        return f"FROM _bbops_events WHERE name IN ({self._dialect.texts}) AND at >= ?"

    async def _pages(self, events: Sequence[str], since: int) -> AsyncIterator[list[ProjectEvent]]:
        names, after, left = json.dumps([*events]), 0, MAX_REPLAYED
        while left > 0:
            rows = await self._database.read(
                f"SELECT {_COLUMNS} {self._since} AND seq > ? ORDER BY seq LIMIT ?",
                (names, since, after, min(_PAGE, left)),
            )
            if not rows:
                return
            yield [_event(row) for row in rows]
            after, left = rows[-1][0], left - len(rows)

    async def list(self, name: str, limit: int) -> list[ProjectEvent]:
        """Return events, newest first, all or those with a name. `id` is their `seq`."""
        where, parameters = ("WHERE name = ? ", (name,)) if name else ("", ())
        rows = await self._database.read(
            f"SELECT {_COLUMNS} FROM _bbops_events {where}ORDER BY seq DESC LIMIT ?",
            (*parameters, limit),
        )
        return [_event(row) for row in rows]


def _event(row: Sequence[Any]) -> ProjectEvent:
    seq, name, payload, at, key, cause, depth = row
    return ProjectEvent(seq, name, payload, at, key, Cause(cause, depth))


def _replay_job(work: str, event: ProjectEvent, token: str) -> NewJob:
    return NewJob(f"{work}@{event.id}-{token}", work, job_payload(event))
