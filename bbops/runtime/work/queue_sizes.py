"""How full a queue is: its jobs by work and state, and how long its oldest event waits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bbops.base.host import Database

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
