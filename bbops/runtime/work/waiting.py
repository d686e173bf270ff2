"""What a job that has not ended waits for, in words: an event, a time, an attempt, its lane."""

from __future__ import annotations

from typing import Final

from bbops.base.host import Database
from bbops.runtime.work.statements import SEATED
from bbops.runtime.work.values import Listed, shown_time

MOST: Final = 20
"""Of what one job waits for."""

_AWAITED: Final = (
    "SELECT event, path FROM _bbops_awaited WHERE job = ? AND path <> ''"
    f" ORDER BY path, event LIMIT {MOST}"
)
_SEATED: Final = (
    f"SELECT uid, state FROM _bbops_jobs WHERE lane = ? AND state IN {SEATED} ORDER BY id"
    f" LIMIT {MOST}"
)


def place_of(path: str) -> str:
    """Return file and line of a recorded step, without its place in loops and calls."""
    return path.partition("#")[0]


async def waits_of(database: Database, job: Listed, number: int) -> list[str]:
    """Return what a job waits for; nothing for one that does not.

    Args:
        database: the project's.
        job: as it is listed.
        number: its row.
    """
    if job.state == "blocked":
        rows = await database.read(_SEATED, (job.lane,))
        return [f"its turn in lane {job.lane}: {uid} is {state}" for uid, state in rows]
    if job.state != "later":
        return []
    until = shown_time(job.run_at)
    if job.error:
        return [f"attempt {job.attempts + 1}, at {until}"]
    events = await database.read(_AWAITED, (number,))
    named = [f"event {event} until {until}, at {place_of(path)}" for event, path in events]
    return named or [f"the time {until}"]
