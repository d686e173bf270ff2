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
from bbops.runtime.work.values import AT, DEEP, MAX_DEPTH, TOO_DEEP, Cause, ProjectEvent, NewJob

Rows = list[tuple[Any, ...]]
_MAX_CACHED: Final = 4_096


def unwrap(database: Any) -> Any:
    """Return the database itself, for what is no change of a project's rows."""
    return database.door if isinstance(database, NotifyingDatabase) else database


class NotifyingDatabase:
    """Passes all on. A read costs nothing more, a write of a heard table what it takes to wake.

    Whoever runs jobs looks by itself each second, so a wake that is missed costs no more than that.

    Attributes:
        door: the database itself.
    """

    def __init__(self, door: Database, wake: Callable[[], None], tables: Collection[str]) -> None:
        """Args: `tables`: those whose rows somebody listens to."""
        self.door, self._wake, self._tables = door, wake, tables
        self._concerned = dict[str, bool]()
        self.read = door.read

    def _concerns(self, sql: str) -> bool:
        concerned = self._concerned.get(sql)
        if concerned is None:
            if len(self._concerned) >= _MAX_CACHED:
                self._concerned.clear()
            concerned = self._concerned[sql] = self._may_concern(sql)
        return concerned

    def _may_concern(self, sql: str) -> bool:
        """Return whether a statement names a heard table; one that deletes may cascade into it."""
        text = sql.lower()
        is_plain = text.startswith(("insert", "update"))
        return not is_plain or any(table.lower() in text for table in self._tables)

    async def write(
        self, sql: str, parameters: Sequence[object] = (), *, at_most: int | None = None
    ) -> Rows:
        """As `Database.write`."""
        rows = await self.door.write(sql, parameters, at_most=at_most)
        if self._concerns(sql):
            self._wake()
        return rows

    async def change(self, sql: str, parameters: Sequence[object] = ()) -> int:
        """As `Database.change`."""
        count = await self.door.change(sql, parameters)
        if self._concerns(sql):
            self._wake()
        return count

    async def write_all(self, statements: Sequence[tuple[str, Parameters]]) -> list[Rows]:
        """As `Database.write_all`."""
        rows = await self.door.write_all(statements)
        if any(self._concerns(sql) for sql, _ in statements):
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
        async with self.door.transaction() as inner:
            yield inner
        self._wake()

    def transaction(self) -> AbstractAsyncContextManager[Database]:
        """As `Database.transaction`."""
        return self._transaction()


MAX_READY: Final = 1_000_000
"""Jobs that wait for a worker, and what is to become of events, of one project."""

CHECK_INTERVAL_MS: Final = 10_000
"""How long it counts whether there was room: to look costs more the more jobs there are."""

_RETRY_SECONDS: Final = 60
_IS_FULL: Final = (
    "SELECT EXISTS (SELECT 1 FROM _bbops_jobs WHERE state = 'ready' LIMIT 1 OFFSET ?)"
    " OR (SELECT coalesce(max(id) - min(id), 0) FROM _bbops_outbox) >= ?"
)


class QueueLimit:
    """Knows whether a project's queue has room."""

    def __init__(self, database: Database, now: Callable[[], int], most: int = MAX_READY) -> None:
        self._database, self._now, self._most = database, now, most
        self._looked, self._is_full = -CHECK_INTERVAL_MS, False

    async def require(self) -> None:
        """Do nothing where there is room.

        Raises:
            Unavailable: 503 `queueFull`, there is none.
        """
        now = self._now()
        if now - self._looked >= CHECK_INTERVAL_MS:
            self._looked = now
            rows = await self._database.read(_IS_FULL, (self._most - 1, self._most))
            self._is_full = bool(rows[0][0])
        if self._is_full:
            raise Unavailable(
                "queueFull", f"{self._most:,} jobs wait to be run",
                hint="look for what they wait for with 'bbops jobs list'",
                retry_seconds=_RETRY_SECONDS,
            )  # fmt: skip


def _do_nothing() -> None:
    """Wake nobody."""


_encode = msgspec.json.Encoder(decimal_format="number").encode


class EventOutbox:
    """The events and jobs of a project."""

    def __init__(
        self, database: Database, dialect: WorkDialect, now: Callable[[], int],
        wake: Callable[[], None] = _do_nothing, *,
        cause: Cause = Cause(),  # noqa: B008 - frozen
        room: QueueLimit | None = None,
    ) -> None:  # fmt: skip
        """Make the door.

        Args:
            database: the project's, or the door of a transaction.
            dialect: of the database.
            now: gives the time in milliseconds since 1970.
            wake: is called when an event or a job has been committed.
            cause: the job that emits.
            room: says whether the queue takes more; None for jobs, which also make room.
        """
        self._database, self._dialect, self._now = database, dialect, now
        self._wake, self._cause, self._room = wake, cause, room

    async def emit(self, event: str, payload: Any, *, origin: str = "") -> None:
        """Write an event into the outbox, from where it reaches its triggers once committed.

        Raises:
            JobFailure: too many jobs have caused one another.
            Failure: it cannot be written.
        """
        self._check_depth(f"event '{event}' is not emitted")
        await self.require_room()
        text = _encode(payload).decode()
        await self._database.write(*emit(event, text, self._now(), cause=self._because(origin)))
        self._wake()

    async def enqueue(
        self, work: str, uid: str, payload: Any, *, delay_ms: int = 0, unique: str | None = None,
        origin: str = "",
    ) -> str:  # fmt: skip
        """Write a job into the outbox, see `Events.enqueue`.

        Raises:
            JobFailure: too many jobs have caused one another.
            Failure: it cannot be written.
        """
        self._check_depth(f"no job of '{work}' is made")
        await self.require_room()
        now, text = self._now(), _encode(payload).decode()
        at = now + delay_ms if delay_ms else 0
        job = NewJob(uid, work, text, run_at=at, cause=self._because(origin))
        found = await enqueue_job(self._database, self._dialect, job, now, unique=unique)
        self._wake()
        return found

    async def send(self, webhook: str, message: str, given: Mapping[str, Any]) -> None:
        """Write the job that gives a message to its receivers into the outbox, see `Events.send`.

        Raises:
            FlowError: too many jobs have caused one another.
            Failure: it cannot be written.
        """
        self._check_depth(f"nothing is sent to '{webhook}'")
        await self.require_room()
        job = fan_out_job(webhook, message, _encode(given).decode(), self._cause)
        await self._database.write(*enqueue(job, self._now()))
        self._wake()

    async def cancel(self, uid: str) -> bool:
        """End a job that has not ended; return whether there was one."""
        found = await cancel_job(self._database, self._dialect, uid, self._now)
        self._wake()
        return found

    async def status(self, uid: str) -> Mapping[str, Any] | None:
        """Return state, attempts, result and error of a job; None where there is none."""
        return await read_status(self._database, uid)

    async def require_room(self) -> None:
        """Do nothing where the queue takes more. Raises: Unavailable: 503 `queueFull`."""
        if self._room is not None:
            await self._room.require()

    def _because(self, origin: str) -> Cause:
        """Return the cause of what a step makes: its job, or its request, and where it stands."""
        job, depth = self._cause.job, self._cause.depth
        return Cause(f"{job}{AT}{origin}" if job and origin else job or origin, depth)

    def _check_depth(self, what: str) -> None:
        if self._cause.depth > MAX_DEPTH:
            raise JobFailure(DEEP, f"{what}: {TOO_DEEP}")

    def within(self, database: Database) -> EventOutbox:
        """Return the door of a transaction."""
        return _TransactionOutbox(
            database, self._dialect, self._now, self._wake, cause=self._cause, room=self._room
        )

    async def committed(self) -> None:
        """Wake whoever waits for events."""
        self._wake()

    def heard(self, tables: Collection[str]) -> Database:
        """Return the database whose writes of some tables wake whoever waits for events, too."""
        return NotifyingDatabase(self._database, self._wake, tables)


class _TransactionOutbox(EventOutbox):
    def __init__(
        self, database: Database, dialect: WorkDialect, now: Callable[[], int],
        wake: Callable[[], None], *, cause: Cause, room: QueueLimit | None,
    ) -> None:  # fmt: skip
        super().__init__(database, dialect, now, self._note, cause=cause, room=room)
        self._is_told, self._outer = False, wake

    def _note(self) -> None:
        self._is_told = True

    async def committed(self) -> None:
        if self._is_told:
            self._outer()


MAX_REPLAYED: Final = 10_000
"""Events that one replay runs again."""

_PAGE: Final = 200
_COLUMNS: Final = "seq, name, payload, at, key, cause, depth"


class EventLog:
    """Events of the last 7 days; of changed rows only that they have changed."""

    def __init__(
        self, database: Database, dialect: WorkDialect, *, now: Callable[[], int] = now_ms
    ) -> None:
        self._database, self._dialect, self._now = database, dialect, now

    async def emit(self, event: str, payload: str) -> None:
        """Emit an event."""
        await self._database.write_all([emit(event, payload, self._now())])

    async def count(self, events: Sequence[str], since: int) -> int:
        """Return how many events of these names there are since a time in milliseconds."""
        given = json.dumps([*events]), since
        rows = await self._database.read(f"SELECT count(*) {self._since}", given)
        return int(rows[0][0])

    async def replay(self, work: str, events: Sequence[str], since: int, token: str) -> int:
        """Run a trigger again for each of them, in their order; return how many.

        Args:
            work: the trigger, such as `triggers/paid`; its condition is asked again.
            events: what it waits for.
            since: a time in milliseconds.
            token: is in the names of the jobs, and in no other replay's.
        """
        count = 0
        async for page in self._pages(events, since):
            jobs = [_replay_job(work, one, token) for one in page]
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

    async def list(self, name: str, most: int) -> list[ProjectEvent]:
        """Return events, the newest first; with `name` only those. `id` is their `seq`."""
        where, given = ("WHERE name = ? ", (name,)) if name else ("", ())
        rows = await self._database.read(
            f"SELECT {_COLUMNS} FROM _bbops_events {where}ORDER BY seq DESC LIMIT ?",
            (*given, most),
        )
        return [_event(row) for row in rows]


def _event(row: Sequence[Any]) -> ProjectEvent:
    seq, name, payload, at, key, cause, depth = row
    return ProjectEvent(seq, name, payload, at, key, Cause(cause, depth))


def _replay_job(work: str, event: ProjectEvent, token: str) -> NewJob:
    return NewJob(f"{work}@{event.id}-{token}", work, job_payload(event))
