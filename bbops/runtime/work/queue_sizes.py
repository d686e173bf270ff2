"""How full a queue is: its jobs by work and state, and how long its oldest event waits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bbops.base.host import Database
from bbops.runtime.work.dialect import Dialect

_JOBS: Final = "SELECT work, state, count(*) FROM _bbops_jobs GROUP BY work, state"
_OLDEST: Final = "SELECT min(at) FROM _bbops_outbox"


@dataclass(frozen=True, slots=True)
class QueueSizes:
    """How full a queue is.

    Attributes:
        jobs: (work, state, count) of those that have not ended.
        oldest_seconds: how long the oldest event has not reached the log; 0 without one.
    """

    jobs: Sequence[tuple[str, str, int]]
    oldest_seconds: float


async def read_sizes(database: Database, now: int) -> QueueSizes:
    """Return how full the queue of a project is. O(jobs), two reads."""
    jobs = await database.read(_JOBS)
    ((oldest,),) = await database.read(_OLDEST)
    waited = 0.0 if oldest is None else max(0, now - oldest) / 1000
    return QueueSizes([(work, state, int(count)) for work, state, count in jobs], waited)


async def read_snapshot_age(database: Database, dialect: Dialect) -> float | None:
    """Return the age in seconds of the oldest snapshot that keeps old rows of the queue.

    Source: PostgreSQL, "Routine Vacuuming" and the view pg_stat_activity.

    Returns:
        0 without such a snapshot; None where the database cannot report it.
    """
    if not dialect.snapshot_age:
        return None
    ((age,),) = await database.read(dialect.snapshot_age)
    return max(0.0, float(age))
