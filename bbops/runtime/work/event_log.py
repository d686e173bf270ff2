"""The log of events as people see it; a trigger can run again for events of the log."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Final

from bbops.base.host import Database
from bbops.runtime.work.dialect import Dialect
from bbops.runtime.work.engine import now_ms
from bbops.runtime.work.outbox import emit, enqueue
from bbops.runtime.work.triggers import job_payload
from bbops.runtime.work.values import Cause, Event, NewJob

MOST_AGAIN: Final = 10_000
"""Events that one replay runs again."""

_PAGE: Final = 200
_COLUMNS: Final = "seq, name, payload, at, key, cause, depth"


class EventLog:
    """Events of the last 7 days; of changed rows only that they have changed."""

    def __init__(
        self, database: Database, dialect: Dialect, *, now: Callable[[], int] = now_ms
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
            jobs = [_again(work, one, token) for one in page]
            await self._database.write_all([enqueue(job, self._now()) for job in jobs])
            count += len(jobs)
        return count

    @property
    def _since(self) -> str:
        return f"FROM _bbops_events WHERE name IN ({self._dialect.texts}) AND at >= ?"

    async def _pages(self, events: Sequence[str], since: int) -> AsyncIterator[list[Event]]:
        names, after, left = json.dumps([*events]), 0, MOST_AGAIN
        while left > 0:
            rows = await self._database.read(
                f"SELECT {_COLUMNS} {self._since} AND seq > ? ORDER BY seq LIMIT ?",
                (names, since, after, min(_PAGE, left)),
            )
            if not rows:
                return
            yield [_event(row) for row in rows]
            after, left = rows[-1][0], left - len(rows)

    async def list(self, name: str, most: int) -> list[Event]:
        """Return events, the newest first; with `name` only those. `id` is their `seq`."""
        where, given = ("WHERE name = ? ", (name,)) if name else ("", ())
        rows = await self._database.read(
            f"SELECT {_COLUMNS} FROM _bbops_events {where}ORDER BY seq DESC LIMIT ?",
            (*given, most),
        )
        return [_event(row) for row in rows]


def _event(row: Sequence[Any]) -> Event:
    seq, name, payload, at, key, cause, depth = row
    return Event(seq, name, payload, at, key, Cause(cause, depth))


def _again(work: str, event: Event, token: str) -> NewJob:
    return NewJob(f"{work}@{event.id}-{token}", work, job_payload(event))
