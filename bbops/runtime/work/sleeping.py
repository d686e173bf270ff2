"""Put jobs away that wait, and find the events that they wait for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bbops.base.host import Database
from bbops.runtime.work.dialect import Dialect
from bbops.runtime.work.fences import Fenced
from bbops.runtime.work.records import Noted, Records
from bbops.runtime.work.statements import Statement, statements
from bbops.runtime.work.values import Claim, Wait

MOST_HEARD: Final = 20
"""Events that a waiting job looks at in one read."""


class Sleeping:
    """The jobs of one worker that wait."""

    def __init__(self, database: Database, dialect: Dialect, owner: str, records: Records) -> None:
        """Args: `owner`: the worker's name."""
        self._database, self._dialect, self._owner = database, dialect, owner
        self._records, self._say = records, statements(dialect)

    async def listen(self, job: Claim, events: Sequence[str]) -> dict[tuple[str, str], int]:
        """Say that a job may wait for events, so that none that comes from now on is missed.

        Returns:
            The event in the log up to which nothing matters to it, by event and path; the path is
            empty for where it began.
        """
        found = await self._listened(job)
        lacking = [one for one in events if (one, "") not in found]
        if not lacking:
            return found
        mine = job.id, self._owner, job.fence
        await self._database.write_all([(self._say.listen, (one, *mine)) for one in lacking])
        return await self._listened(job)

    async def _listened(self, job: Claim) -> dict[tuple[str, str], int]:
        sql = "SELECT event, path, since FROM _bbops_awaited WHERE job = ?"
        rows = await self._database.read(sql, (job.id,))
        return {(event, path): since for event, path, since in rows}

    async def heard(self, event: str, since: int) -> list[tuple[int, int, str]]:
        """Return events behind a place in the log, the oldest first: place, time, payload."""
        return await self._database.read(
            "SELECT seq, at, payload FROM _bbops_events WHERE name = ? AND seq > ? ORDER BY seq"
            f" LIMIT {MOST_HEARD}",
            (event, since),
        )

    async def wait(self, job: Claim, waits: Sequence[Wait], *, also: Noted = ()) -> bool:
        """Put a job away until what it waits for; return whether it was still ours.

        Whoever writes events waits for this, or is done: none comes between.

        Raises:
            FencedError: somebody else has the job.
        """
        mine, until = (job.id, self._owner, job.fence), min(one.until for one in waits)
        say, lock = self._say, self._dialect.locks_pump
        statements: list[Statement] = [self._records.of(job, *one) for one in also]
        statements += [(say.unwait, mine)] + [
            (say.wait, (one.path, one.event, one.value, one.since, until, *mine))
            for one in waits if one.event
        ]  # fmt: skip
        locks: list[Statement] = [(lock, ())] if lock else []
        with Fenced(job):
            done = await self._database.write_all(
                [*locks, *statements, (say.doze, (until, until, *mine))]
            )
        return bool(done[-1])
