"""End jobs and let the next ones into their lanes, many in one transaction."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bbops.base.host import Database
from bbops.runtime.work.dialect import Dialect
from bbops.runtime.work.shared import MOST_SHARED_BYTES, Shared
from bbops.runtime.work.statements import HOLD, Statement, statements
from bbops.runtime.work.values import Claim


@dataclass(frozen=True, slots=True)
class Ending:
    """A job that has ended; `result` is what it returned, as JSON, for who asks for it."""

    job: Claim
    outcome: str
    result: str | None = None


class Endings:
    """Ends the jobs of one worker.

    Who ends and who comes next are one moment, or others overtake, or a kill shuts a lane.

    Attributes:
        holds: see `Engine`.
    """

    def __init__(
        self, database: Database, dialect: Dialect, owner: str, now: Callable[[], int]
    ) -> None:
        """Args: `owner`: the worker's name."""
        self._database, self._dialect, self._owner, self._now = database, dialect, owner, now
        self._say = statements(dialect)
        self._shared = Shared(self._write)
        self.holds = ""

    async def end(self, ending: Ending) -> bool:
        """End a job; return whether it was still ours."""
        if len(ending.result or "") > MOST_SHARED_BYTES:
            return (await self._write([ending]))[0]
        return await self._shared.add(ending)

    async def _write(self, every: Sequence[Ending]) -> Sequence[bool]:
        say, now = self._say, self._now()
        rows = [
            {"job": one.job.id, "fenced": one.job.fence, "outcome": one.outcome,
             "value": one.result} for one in every
        ]  # fmt: skip
        mine = json.dumps(rows), self._owner
        has_results = any(one.result is not None for one in every)
        wanted: list[Statement] = [
            (say.keep, (now, *mine)), *([(say.result, (now, *mine))] if has_results else []),
            (say.forget, mine), (say.end, mine),
        ]  # fmt: skip
        ended = await self.with_lanes([one.job for one in every], wanted)
        ours = {row[0] for row in ended}
        return [one.job.id in ours for one in every]

    async def with_lanes(
        self, jobs: Sequence[Claim], wanted: Sequence[Statement]
    ) -> list[tuple[object, ...]]:
        """Run what ends jobs and open their lanes; return the rows of its last statement."""
        lanes = Counter(one.lane for one in jobs if one.lane)
        lock = self._dialect.locks_lanes
        before: list[Statement] = [(lock, (_write(lanes),))] if lock and lanes else []
        done = await self._database.write_all([*before, *wanted, *self._opening(lanes)])
        return done[len(before) + len(wanted) - 1]

    def _opening(self, lanes: Counter[str]) -> list[Statement]:
        """Return what lets as many into each lane as have left it."""
        opened, left = list[Statement](), lanes
        while left:
            opened.append((self._say.open, (self._now(), _write(left))))
            left = Counter({lane: count - 1 for lane, count in left.items() if count > 1})
        if lanes and self.holds:
            opened.append((f"{HOLD} AND lane IN ({self._dialect.texts})",
                           (self.holds, _write(lanes))))  # fmt: skip
        return opened


def _write(lanes: Counter[str]) -> str:
    """Return lanes as JSON; in one order, so that two who lock them do not block each other."""
    return json.dumps(sorted(lanes))
