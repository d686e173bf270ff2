"""The engine on SQL: events become jobs, and jobs move through their states."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec

from bbops.base.host import Database
from bbops.runtime.values.failures import Failure
from bbops.runtime.work.engine import AwaitedEvent, now_ms
from bbops.runtime.work.fenced_writes import (
    MAX_BATCH_BYTES,
    FenceErrors,
    StepResults,
    StepRecords,
    WriteBatcher,
    is_fence_failure,
)
from bbops.runtime.work.results import unpack
from bbops.runtime.work.rows import (
    route_rows,
    find_batch_end,
    read_claim,
    write_event,
    write_job,
)
from bbops.runtime.work.statements import (
    HOLD,
    IDLE,
    IS_MADE,
    NEVER_MS,
    NEWEST,
    OUTBOX,
    READY,
    SIZES,
    WorkDialect,
    Statement,
    statements,
    write_next_tick,
    write_missed,
    write_runs,
)
from bbops.runtime.work.triggers import choose_unique, read_keys, write_wakes, write_keys
from bbops.runtime.work.values import (
    JOB_DEAD,
    TASK_MISSED,
    Claim,
    NewJob,
    Route,
    Tick,
    TickDue,
    JobWait,
)


@dataclass(frozen=True, slots=True)
class JobEnd:
    """A job that has ended; `result` is what it returned, as JSON, for who asks for it."""

    job: Claim
    outcome: str
    result: str | None = None


class JobEndings:
    """Ends the jobs of one worker.

    Who ends and who comes next are one moment, or others overtake, or a kill shuts a lane.

    Attributes:
        holds: see `Engine`.
    """

    def __init__(
        self, database: Database, dialect: WorkDialect, owner: str, now: Callable[[], int]
    ) -> None:
        """Args: `owner`: the worker's name."""
        self._database, self._dialect, self._owner, self._now = database, dialect, owner, now
        self._say = statements(dialect)
        self._shared = WriteBatcher(self._write_ends)
        self.holds = ""

    async def end(self, ending: JobEnd) -> bool:
        """End a job; return whether it was still ours."""
        if len(ending.result or "") > MAX_BATCH_BYTES:
            return (await self._write_ends([ending]))[0]
        return await self._shared.add(ending)

    async def _write_ends(self, every: Sequence[JobEnd]) -> Sequence[bool]:
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
        before: list[Statement] = [(lock, (_write_lanes(lanes),))] if lock and lanes else []
        done = await self._database.write_all([*before, *wanted, *self._opening(lanes)])
        return done[len(before) + len(wanted) - 1]

    def _opening(self, lanes: Counter[str]) -> list[Statement]:
        """Return what lets as many into each lane as have left it."""
        opened, left = list[Statement](), lanes
        while left:
            opened.append((self._say.open, (self._now(), _write_lanes(left))))
            left = Counter({lane: count - 1 for lane, count in left.items() if count > 1})
        if lanes and self.holds:
            opened.append((f"{HOLD} AND lane IN ({self._dialect.texts})",
                           (self.holds, _write_lanes(lanes))))  # fmt: skip
        return opened


def _write_lanes(lanes: Counter[str]) -> str:
    """Return lanes as JSON; in one order, so that two who lock them do not block each other."""
    return json.dumps(sorted(lanes))


MAX_EVENTS_READ: Final = 20
"""Events that a waiting job looks at in one read."""


class WaitingJobs:
    """The jobs of one worker that wait."""

    def __init__(self, database: Database, dialect: WorkDialect, owner: str, records: StepRecords) -> None:
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
            f" LIMIT {MAX_EVENTS_READ}",
            (event, since),
        )

    async def wait(self, job: Claim, waits: Sequence[JobWait], *, also: StepResults = ()) -> bool:
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
        with FenceErrors(job):
            done = await self._database.write_all(
                [*locks, *statements, (say.doze, (until, until, *mine))]
            )
        return bool(done[-1])


MAX_PUMP_BYTES: Final = 4 << 20
"""Of payloads that one `pump` moves."""

LEASE_MS: Final = 60_000
"""After so long without a word a worker counts as dead, whatever its connection says."""

_OLDEST_INTERVAL: Final = 8
"""One claim in so many takes the oldest, so that nothing starves behind higher priorities."""


class SqlEngine:
    """An `Engine` over the tables of `bbops.database.schema.work_tables`."""

    def __init__(
        self, database: Database, dialect: WorkDialect, owner: str, *,
        now: Callable[[], int] = now_ms,
    ) -> None:  # fmt: skip
        """Args: `owner`: the worker's name, which no other worker ever has."""
        self.database, self.dialect, self.owner = database, dialect, owner
        self._say, self._now = statements(dialect), now
        self._records = StepRecords(database, dialect, owner)
        self._endings = JobEndings(database, dialect, owner, now)
        self._sleeping = WaitingJobs(database, dialect, owner, self._records)
        self._claims = 0
        self.hears_missed, self.hears_dead = False, frozenset[str]()
        self.keeps: Mapping[str, Container[str]] = {}

    @property
    def names_cause(self) -> bool:
        """See above."""
        return self._records.names_cause

    @names_cause.setter
    def names_cause(self, wanted: bool) -> None:
        self._records.names_cause = wanted

    @property
    def holds(self) -> str:
        """See above."""
        return self._endings.holds

    @holds.setter
    def holds(self, reason: str) -> None:
        self._endings.holds = reason

    # ---- from the outbox into jobs
    async def pump(
        self, route: Route, arrange: Callable[[NewJob], NewJob] = lambda job: job
    ) -> int:
        """As `Engine.pump`."""
        last = find_batch_end(
            await self.database.read(SIZES, (self.dialect.most_at_once,)), MAX_PUMP_BYTES
        )
        if last is None:
            return 0
        rows = await self.database.read(OUTBOX, (last, self.dialect.most_at_once))
        ((newest, awaited),) = await self.database.read(NEWEST)
        events = [row for row in rows if row[7] is None]
        now, made_of = self._now(), route_rows(rows, newest, route, arrange)
        taken = await read_keys(self.database, self.dialect, made_of)
        jobs, keys = choose_unique(made_of, taken)
        ids = json.dumps([row[0] for row in rows])
        lanes = json.dumps(sorted({one.lane for one, _ in jobs if one.lane}))
        uids = (one.uid for one, _ in jobs)
        made = [write_job(one, at, seq, now) for at, (one, seq) in enumerate(jobs)]
        told = [write_event(at, row, self.keeps) for at, row in enumerate(events, 1)]
        say = self._say
        try:
            await self.database.write_all([
                *self._locks(lanes),
                (say.guard, (ids, len(rows), newest, awaited)),
                (say.log, (newest, _as_json(told))),
                *([(say.keep_keys, (write_keys(keys),))] if keys else []),
                (say.route, (lanes, _as_json(made))),
                *self._holding(IS_MADE.format(self.dialect.texts), json.dumps([*uids])),
                *([(say.wake_waiting, (write_wakes(events),))] if awaited else []),
                (say.leave, (ids,)),
            ])  # fmt: skip
        except Failure as failure:
            if is_fence_failure(failure):
                return 0
            raise
        return len(rows)

    def _locks(self, lanes: str) -> list[Statement]:
        pump, seats = self.dialect.locks_pump, self.dialect.locks_lanes
        return [*([(pump, ())] if pump else []), *([(seats, (lanes,))] if seats else [])]

    # ---- the life of a job
    async def claim(self, most: int, *, bulk: int = 0) -> list[Claim]:
        """As `Engine.claim`."""
        self._claims += 1
        is_for_oldest = self._claims % _OLDEST_INTERVAL == 0
        sql = self._say.claim_oldest if is_for_oldest else self._say.claim
        ((has_ready, has_bulk),) = await self.database.read(READY)
        found = await self._take(sql, most) if has_ready and most else []
        more = await self._take(self._say.claim_bulk, bulk) if has_bulk and bulk else []
        return [*found, *(replace(one, is_bulk=True) for one in more)]

    async def _take(self, sql: str, most: int) -> list[Claim]:
        rows = await self.database.write(sql, (self.owner, self._now() + LEASE_MS, most))
        return [read_claim(row) for row in sorted(rows)]

    async def steps(self, job: Claim) -> dict[str, Any]:
        """As `Engine.steps`."""
        rows = await self.database.read(
            "SELECT path, result FROM _bbops_steps WHERE job = ?", (job.id,)
        )
        return {path: unpack(result) for path, result in rows}

    async def checkpoint(self, job: Claim, path: str, result: Any, *, also: StepResults = ()) -> None:
        """As `Engine.checkpoint`."""
        await self._records.write(job, [*also, (path, result)])

    async def change(
        self, job: Claim, path: str, effects: Sequence[Statement], *, also: StepResults = (),
        at_most: int | None = None,
    ) -> list[list[tuple[Any, ...]]]:  # fmt: skip
        """As `Engine.change`."""
        return await self._records.change(job, path, effects, also, at_most)

    def as_cause(self, job: Claim) -> tuple[list[Statement], list[Statement]]:
        """As `Engine.as_cause`."""
        return self._records.as_cause(job)

    def record_of(self, job: Claim, path: str, result: Any) -> Statement:
        """As `Engine.record_of`."""
        return self._records.of(job, path, result)

    async def end(self, job: Claim, outcome: str = "done", *, result: str | None = None) -> bool:
        """As `Engine.end`."""
        return await self._endings.end(JobEnd(job, outcome, result))

    async def fail(self, job: Claim, error: str, again_at: int | None) -> bool:
        """As `Engine.fail`."""
        mine = job.id, self.owner, job.fence
        if again_at is not None:
            return await self._put_back(job, again_at, error, is_counted=True)
        wanted: list[Statement] = [*self._reported(job, error), (self._say.die, (error, *mine))]
        return bool(await self._endings.with_lanes([job], wanted))

    def _reported(self, job: Claim, error: str) -> list[Statement]:
        """Return what says that a job is dead, where somebody listens; not of who does so."""
        if not self.hears_dead or job.work in self.hears_dead:
            return []
        told = {"job": job.uid, "work": job.work, "error": error, "attempts": job.attempt}
        mine = job.id, self.owner, job.fence
        return [(self._say.report, (JOB_DEAD, json.dumps(told), self._now(), *mine))]

    async def sleep(self, job: Claim, until: int) -> bool:
        """As `Engine.sleep`."""
        return await self._put_back(job, until, "", is_counted=False)

    async def hold(self, job: Claim, reason: str) -> bool:
        """As `Engine.hold`."""
        given = reason, self._now(), job.id, self.owner, job.fence
        return bool(await self.database.write(self._say.hold, given))

    async def _put_back(self, job: Claim, at: int, error: str, *, is_counted: bool) -> bool:
        given = at, error, int(not is_counted), job.id, self.owner, job.fence
        return bool(await self.database.write(self._say.again, given))

    def _holding(self, which: str, given: object) -> list[Statement]:
        return [(f"{HOLD} AND {which}", (self.holds, given))] if self.holds else []

    async def hold_waiting(self, job: Claim | None = None) -> None:
        """As `Engine.hold_waiting`."""
        which, given = ("id = ?", [job.id]) if job else ("true", [])
        await self.database.change(f"{HOLD} AND {which}", (self.holds, *given))

    # ---- events that a job waits for
    async def listen(self, job: Claim, events: Sequence[str]) -> Mapping[tuple[str, str], int]:
        """As `Engine.listen`."""
        return await self._sleeping.listen(job, events)

    async def heard(self, event: str, since: int) -> list[AwaitedEvent]:
        """As `Engine.heard`."""
        return await self._sleeping.heard(event, since)

    async def wait(self, job: Claim, waits: Sequence[JobWait], *, also: StepResults = ()) -> bool:
        """As `Engine.wait`."""
        return await self._sleeping.wait(job, waits, also=also)

    # ---- time
    async def idle_until(self) -> int | None:
        """As `Engine.idle_until`."""
        ((is_busy, *due),) = await self.database.read(IDLE, (self.owner,))
        until = min((at for at in due if at is not None), default=NEVER_MS)
        return None if is_busy or until <= self._now() else int(until)

    async def wake_due(self) -> int | None:
        """As `Engine.wake_due`."""
        rows = await self.database.read("SELECT min(run_at) FROM _bbops_jobs WHERE state = 'later'")
        due, now = rows[0][0], self._now()
        if due is not None and due <= now:
            await self.database.change(self._say.wake, (now, self.dialect.most_at_once))
        return None if due is None else int(due)

    async def set_ticks(self, ticks: Iterable[Tick]) -> None:
        """As `Engine.set_ticks`."""
        rows = [{"task": one.task, "next_at": one.at, "schedule": one.schedule} for one in ticks]
        names = json.dumps([row["task"] for row in rows])
        say = self._say
        await self.database.write_all(
            [(say.forget_ticks, (names,)), (say.set_ticks, (json.dumps(rows),))]
        )

    async def tick(self, due: Callable[[Tick, int], TickDue]) -> int:
        """As `Engine.tick`."""
        now = self._now()
        rows = await self.database.read(
            "SELECT task, next_at, schedule FROM _bbops_ticks WHERE next_at <= ? ORDER BY next_at"
            f" LIMIT {self.dialect.most_at_once}",
            (now,),
        )
        if not rows:
            return 0
        ticks = [Tick(*row) for row in rows]
        made = [(tick, due(tick, now)) for tick in ticks]
        ran = [row for tick, one in made for row in write_runs(tick, one)]
        lanes = sorted({row["task"] for row in ran if row["overlap"] != "allow"})
        lock, coming = self.dialect.locks_lanes, [write_next_tick(*one) for one in made]
        await self.database.write_all([
            *([(lock, (json.dumps(lanes),))] if lock and lanes else []),
            *self._missed(made),
            (self._say.tick, (now, now, json.dumps(ran))),
            (self._say.tock, (json.dumps(coming),)),
        ])  # fmt: skip
        return len(rows)

    def _missed(self, made: Iterable[tuple[Tick, TickDue]]) -> list[Statement]:
        """Return what says that tasks did not run, where somebody listens."""
        if not self.hears_missed:
            return []
        return [
            (self._say.miss, (TASK_MISSED, tick.task, write_missed(tick, one), self._now(),
                              tick.task, tick.at))
            for tick, one in made if one.missed
        ]  # fmt: skip

    def now(self) -> int:
        """As `Engine.now`."""
        return self._now()

    def seconds_until(self, at: int) -> float:
        """As `Engine.seconds_until`."""
        return (at - self._now()) / 1000

    # ---- when workers die
    async def renew(self) -> None:
        """As `Engine.renew`."""
        due = "SELECT 1 FROM _bbops_jobs WHERE state = 'running' AND owner = ? AND lease < ?"
        now = self._now()
        if await self.database.read(f"{due} LIMIT 1", (self.owner, now + LEASE_MS // 2)):
            await self.database.change(
                "UPDATE _bbops_jobs SET lease = ? WHERE state = 'running' AND owner = ?",
                (now + LEASE_MS, self.owner),
            )

    async def reclaim(self) -> list[str]:
        """As `Engine.reclaim`."""
        others = "SELECT 1 FROM _bbops_jobs WHERE state = 'running' AND owner <> ? LIMIT 1"
        if not await self.database.read(others, (self.owner,)):
            return []
        rows = await self.database.write(self._say.reclaim, (self.owner, self._now()))
        return [row[0] for row in rows]


def _as_json(rows: Sequence[object]) -> str:
    """Return rows as JSON: a third of the time of `json`, where texts have no lone surrogates."""
    try:
        return msgspec.json.encode(rows).decode()
    except UnicodeEncodeError:
        return json.dumps(rows)
