"""Where `emit` and `enqueue` go: into the commit of whoever does so, or into one of its own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import msgspec

from bbops.base.host import Database
from bbops.runtime.values.failures import JobFailure
from bbops.runtime.work.dialect import Dialect
from bbops.runtime.work.jobs import cancel_job, make_job, read_status
from bbops.runtime.work.messages import fan_out_job
from bbops.runtime.work.outbox import emit, enqueue
from bbops.runtime.work.room import Room
from bbops.runtime.work.values import AT, DEEP, MOST_DEPTH, TOO_DEEP, Cause, NewJob
from bbops.runtime.work.writes import HeardDatabase


def _nothing() -> None:
    """Wake nobody."""


_encode = msgspec.json.Encoder(decimal_format="number").encode


class Outbox:
    """The events and jobs of a project."""

    def __init__(
        self, database: Database, dialect: Dialect, now: Callable[[], int],
        wake: Callable[[], None] = _nothing, *,
        cause: Cause = Cause(),  # noqa: B008 - frozen
        room: Room | None = None,
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
        found = await make_job(self._database, self._dialect, job, now, unique=unique)
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
        if self._cause.depth > MOST_DEPTH:
            raise JobFailure(DEEP, f"{what}: {TOO_DEEP}")

    def within(self, database: Database) -> Outbox:
        """Return the door of a transaction."""
        return _Within(
            database, self._dialect, self._now, self._wake, cause=self._cause, room=self._room
        )

    async def committed(self) -> None:
        """Wake whoever waits for events."""
        self._wake()

    def heard(self, tables: Collection[str]) -> Database:
        """Return the database whose writes of some tables wake whoever waits for events, too."""
        return HeardDatabase(self._database, self._wake, tables)


class _Within(Outbox):
    def __init__(
        self, database: Database, dialect: Dialect, now: Callable[[], int],
        wake: Callable[[], None], *, cause: Cause, room: Room | None,
    ) -> None:  # fmt: skip
        super().__init__(database, dialect, now, self._note, cause=cause, room=room)
        self._is_told, self._outer = False, wake

    def _note(self) -> None:
        self._is_told = True

    async def committed(self) -> None:
        if self._is_told:
            self._outer()
