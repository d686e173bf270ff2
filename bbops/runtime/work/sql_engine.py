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
    StepRecords,
    StepResults,
    WriteBatcher,
    is_fence_failure,
)
from bbops.runtime.work.results import unpack
from bbops.runtime.work.rows import find_batch_end, read_claim, route_rows, write_event, write_job
from bbops.runtime.work.statements import (
    HOLD,
    IDLE,
    IS_MADE,
    NEVER_MS,
    NEWEST,
    OUTBOX,
    READY,
    SIZES,
    Statement,
    WorkDialect,
    statements,
    write_missed,
    write_next_tick,
    write_runs,
)
from bbops.runtime.work.triggers import choose_unique, read_keys, write_keys, write_wakes
from bbops.runtime.work.values import (
    JOB_DEAD,
    TASK_MISSED,
    Claim,
    JobWait,
    NewJob,
    Route,
    Tick,
    TickDue,
)


@dataclass(frozen=True, slots=True)
class JobEnd:
    """The end of a job. `result` is the returned value as JSON, for `jobStatus`."""

    job: Claim
    outcome: str
    result: str | None = None


class JobEndings:
    """Ends the jobs of one worker, and opens their lanes in the same transaction.

    In two transactions, another job could overtake the next one, and a crash between them would
    block the lane.

    Attributes:
        hold_reason: see `Engine`.
    """

    def __init__(
        self, database: Database, dialect: WorkDialect, owner: str, now: Callable[[], int]
    ) -> None:
        """Args: `owner`: the worker's name."""
        self._database, self._dialect, self._owner, self._now = database, dialect, owner, now
        self._sql = statements(dialect)
        self._batcher = WriteBatcher(self._write_batch)
        self.hold_reason = ""

    async def end(self, end: JobEnd) -> bool:
        """End a job; return whether the claim was valid."""
        if len(end.result or "") > MAX_BATCH_BYTES:
            return (await self._write_batch([end]))[0]
        return await self._batcher.add(end)

    async def _write_batch(self, ends: Sequence[JobEnd]) -> Sequence[bool]:
        sql, now = self._sql, self._now()
        rows = [
            {"job": end.job.id, "fenced": end.job.fence, "outcome": end.outcome,
             "value": end.result} for end in ends
        ]  # fmt: skip
        own = json.dumps(rows), self._owner
        has_results = any(end.result is not None for end in ends)
        writes: list[Statement] = [
            (sql.log_ends, (now, *own)),
            *([(sql.save_results, (now, *own))] if has_results else []),
            (sql.delete_steps, own), (sql.delete_jobs, own),
        ]  # fmt: skip
        deleted = await self.write_with_lanes([end.job for end in ends], writes)
        ids = {row[0] for row in deleted}
        return [end.job.id in ids for end in ends]

    async def write_with_lanes(
        self, jobs: Sequence[Claim], writes: Sequence[Statement]
    ) -> list[tuple[object, ...]]:
        """Run statements that end jobs, and open the lanes; return the last statement's rows."""
        lanes = Counter(job.lane for job in jobs if job.lane)
        lock = self._dialect.lanes_lock
        before: list[Statement] = [(lock, (_write_lanes(lanes),))] if lock and lanes else []
        results = await self._database.write_all([*before, *writes, *self._open_lanes(lanes)])
        return results[len(before) + len(writes) - 1]

    def _open_lanes(self, lanes: Counter[str]) -> list[Statement]:
        """Return the statements that admit as many jobs to each lane as have ended in it."""
        opens, left = list[Statement](), lanes
        while left:
            opens.append((self._sql.open_lanes, (self._now(), _write_lanes(left))))
            left = Counter({lane: count - 1 for lane, count in left.items() if count > 1})
        if lanes and self.hold_reason:
            opens.append((f"{HOLD} AND lane IN ({self._dialect.texts})",
                           (self.hold_reason, _write_lanes(lanes))))  # fmt: skip
        return opens


def _write_lanes(lanes: Counter[str]) -> str:
    """Return lanes as JSON, sorted, so that two transactions cannot deadlock."""
    return json.dumps(sorted(lanes))


MAX_EVENTS_READ: Final = 20
"""The most events that a waiting job reads at a time."""


class WaitingJobs:
    """Waits of one worker's jobs for events and times."""

    def __init__(
        self, database: Database, dialect: WorkDialect, owner: str, records: StepRecords
    ) -> None:
        """Args: `owner`: the worker's name."""
        self._database, self._dialect, self._owner = database, dialect, owner
        self._records, self._sql = records, statements(dialect)

    async def listen(self, job: Claim, events: Sequence[str]) -> dict[tuple[str, str], int]:
        """Register a job for events, as `Engine.listen`."""
        positions = await self._read_positions(job)
        missing = [event for event in events if (event, "") not in positions]
        if not missing:
            return positions
        claim = job.id, self._owner, job.fence
        await self._database.write_all(
            [(self._sql.start_listening, (event, *claim)) for event in missing]
        )
        return await self._read_positions(job)

    async def _read_positions(self, job: Claim) -> dict[tuple[str, str], int]:
        sql = "SELECT event, path, since FROM _bbops_awaited WHERE job = ?"
        rows = await self._database.read(sql, (job.id,))
        return {(event, path): since for event, path, since in rows}

    async def events_after(self, event: str, since: int) -> list[tuple[int, int, str]]:
        """Return some events after a position in the log, oldest first."""
        return await self._database.read(
            "SELECT seq, at, payload FROM _bbops_events WHERE name = ? AND seq > ? ORDER BY seq"
            f" LIMIT {MAX_EVENTS_READ}",
            (event, since),
        )

    async def wait(self, job: Claim, waits: Sequence[JobWait], *, also: StepResults = ()) -> bool:
        """Requeue a job until an event or a time, as `Engine.wait`.

        A lock keeps pumps away, so that no event arrives between the check and the wait.
        """
        claim, until = (job.id, self._owner, job.fence), min(wait.until for wait in waits)
        sql, lock = self._sql, self._dialect.pump_lock
        statements: list[Statement] = [self._records.statement(job, *result) for result in also]
        statements += [(sql.clear_waits, claim)] + [
            (sql.save_wait, (wait.path, wait.event, wait.value, wait.since, until, *claim))
            for wait in waits if wait.event
        ]  # fmt: skip
        locks: list[Statement] = [(lock, ())] if lock else []
        with FenceErrors(job):
            results = await self._database.write_all(
                [*locks, *statements, (sql.sleep, (until, until, *claim))]
            )
        return bool(results[-1])


MAX_PUMP_BYTES: Final = 4 << 20
"""The size of the payloads that one `pump` moves."""

LEASE_MS: Final = 60_000
"""The lease of a claim. A worker that does not renew it counts as dead."""

_OLDEST_INTERVAL: Final = 8
"""Every eighth claim takes the oldest jobs, so that jobs of low priority do not starve."""


class SqlEngine:
    """An `Engine` over the tables of `bbops.database.schema.own`."""

    def __init__(
        self, database: Database, dialect: WorkDialect, owner: str, *,
        now: Callable[[], int] = now_ms,
    ) -> None:  # fmt: skip
        """Args: `owner`: the worker's name, which is never used again."""
        self.database, self.dialect, self.owner = database, dialect, owner
        self._sql, self._now = statements(dialect), now
        self._records = StepRecords(database, dialect, owner)
        self._endings = JobEndings(database, dialect, owner, now)
        self._waiting = WaitingJobs(database, dialect, owner, self._records)
        self._claims = 0
        self.reports_missed, self.dead_job_triggers = False, frozenset[str]()
        self.logged_columns: Mapping[str, Container[str]] = {}

    @property
    def records_cause(self) -> bool:
        """As `Engine.records_cause`."""
        return self._records.records_cause

    @records_cause.setter
    def records_cause(self, value: bool) -> None:
        self._records.records_cause = value

    @property
    def hold_reason(self) -> str:
        """As `Engine.hold_reason`."""
        return self._endings.hold_reason

    @hold_reason.setter
    def hold_reason(self, reason: str) -> None:
        self._endings.hold_reason = reason

    # ---- outbox
    async def pump(
        self, route: Route, arrange: Callable[[NewJob], NewJob] = lambda job: job
    ) -> int:
        """As `Engine.pump`."""
        last = find_batch_end(
            await self.database.read(SIZES, (self.dialect.batch_size,)), MAX_PUMP_BYTES
        )
        if last is None:
            return 0
        rows = await self.database.read(OUTBOX, (last, self.dialect.batch_size))
        ((newest, awaited),) = await self.database.read(NEWEST)
        events = [row for row in rows if row[7] is None]
        now, routed = self._now(), route_rows(rows, newest, route, arrange)
        taken = await read_keys(self.database, self.dialect, routed)
        jobs, keys = choose_unique(routed, taken)
        ids = json.dumps([row[0] for row in rows])
        lanes = json.dumps(sorted({job.lane for job, _ in jobs if job.lane}))
        uids = (job.uid for job, _ in jobs)
        job_rows = [write_job(job, ord_, seq, now) for ord_, (job, seq) in enumerate(jobs)]
        event_rows = [
            write_event(ord_, row, self.logged_columns) for ord_, row in enumerate(events, 1)
        ]  # fmt: skip
        sql = self._sql
        try:
            await self.database.write_all([
                *self._locks(lanes),
                (sql.check_unchanged, (ids, len(rows), newest, awaited)),
                (sql.log_events, (newest, _as_json(event_rows))),
                *([(sql.save_keys, (write_keys(keys),))] if keys else []),
                (sql.insert_jobs, (lanes, _as_json(job_rows))),
                *self._hold_statements(IS_MADE.format(self.dialect.texts), json.dumps([*uids])),
                *([(sql.wake_waiting, (write_wakes(events),))] if awaited else []),
                (sql.clear_outbox, (ids,)),
            ])  # fmt: skip
        except Failure as failure:
            if is_fence_failure(failure):
                return 0
            raise
        return len(rows)

    def _locks(self, lanes: str) -> list[Statement]:
        pump, seats = self.dialect.pump_lock, self.dialect.lanes_lock
        return [*([(pump, ())] if pump else []), *([(seats, (lanes,))] if seats else [])]

    # ---- jobs
    async def claim(self, limit: int, *, bulk: int = 0) -> list[Claim]:
        """As `Engine.claim`."""
        self._claims += 1
        takes_oldest = self._claims % _OLDEST_INTERVAL == 0
        sql = self._sql.claim_oldest if takes_oldest else self._sql.claim
        ((has_ready, has_bulk),) = await self.database.read(READY)
        claims = await self._claim(sql, limit) if has_ready and limit else []
        bulk_claims = await self._claim(self._sql.claim_bulk, bulk) if has_bulk and bulk else []
        return [*claims, *(replace(claim, is_bulk=True) for claim in bulk_claims)]

    async def _claim(self, sql: str, limit: int) -> list[Claim]:
        rows = await self.database.write(sql, (self.owner, self._now() + LEASE_MS, limit))
        return [read_claim(row) for row in sorted(rows)]

    async def steps(self, job: Claim) -> dict[str, Any]:
        """As `Engine.steps`."""
        rows = await self.database.read(
            "SELECT path, result FROM _bbops_steps WHERE job = ?", (job.id,)
        )
        return {path: unpack(result) for path, result in rows}

    async def checkpoint(
        self, job: Claim, path: str, result: Any, *, also: StepResults = ()
    ) -> None:
        """As `Engine.checkpoint`."""
        await self._records.write(job, [*also, (path, result)])

    async def change(
        self, job: Claim, path: str, effects: Sequence[Statement], *, also: StepResults = (),
        at_most: int | None = None,
    ) -> list[list[tuple[Any, ...]]]:  # fmt: skip
        """As `Engine.change`."""
        return await self._records.change(job, path, effects, also, at_most)

    def cause_statements(self, job: Claim) -> tuple[list[Statement], list[Statement]]:
        """As `Engine.cause_statements`."""
        return self._records.cause_statements(job)

    def record_statement(self, job: Claim, path: str, result: Any) -> Statement:
        """As `Engine.record_statement`."""
        return self._records.statement(job, path, result)

    async def end(self, job: Claim, outcome: str = "done", *, result: str | None = None) -> bool:
        """As `Engine.end`."""
        return await self._endings.end(JobEnd(job, outcome, result))

    async def fail(self, job: Claim, error: str, retry_at: int | None) -> bool:
        """As `Engine.fail`."""
        claim = job.id, self.owner, job.fence
        if retry_at is not None:
            return await self._requeue(job, retry_at, error, is_counted=True)
        writes: list[Statement] = [
            *self._report_dead(job, error), (self._sql.mark_dead, (error, *claim))
        ]  # fmt: skip
        return bool(await self._endings.write_with_lanes([job], writes))

    def _report_dead(self, job: Claim, error: str) -> list[Statement]:
        """Return the statement that emits `bbops.job-dead`.

        It is not emitted without triggers for it, and not for dead jobs of these triggers.
        """
        if not self.dead_job_triggers or job.work in self.dead_job_triggers:
            return []
        payload = {"job": job.uid, "work": job.work, "error": error, "attempts": job.attempt}
        claim = job.id, self.owner, job.fence
        return [(self._sql.report_dead, (JOB_DEAD, json.dumps(payload), self._now(), *claim))]

    async def sleep(self, job: Claim, until: int) -> bool:
        """As `Engine.sleep`."""
        return await self._requeue(job, until, "", is_counted=False)

    async def hold(self, job: Claim, reason: str) -> bool:
        """As `Engine.hold`."""
        parameters = reason, self._now(), job.id, self.owner, job.fence
        return bool(await self.database.write(self._sql.hold, parameters))

    async def _requeue(self, job: Claim, at: int, error: str, *, is_counted: bool) -> bool:
        parameters = at, error, int(not is_counted), job.id, self.owner, job.fence
        return bool(await self.database.write(self._sql.requeue, parameters))

    def _hold_statements(self, condition: str, parameter: object) -> list[Statement]:
        if not self.hold_reason:
            return []
        return [(f"{HOLD} AND {condition}", (self.hold_reason, parameter))]

    async def hold_waiting(self, job: Claim | None = None) -> None:
        """As `Engine.hold_waiting`."""
        condition, ids = ("id = ?", [job.id]) if job else ("true", [])
        await self.database.change(f"{HOLD} AND {condition}", (self.hold_reason, *ids))

    # ---- waits
    async def listen(self, job: Claim, events: Sequence[str]) -> Mapping[tuple[str, str], int]:
        """As `Engine.listen`."""
        return await self._waiting.listen(job, events)

    async def events_after(self, event: str, since: int) -> list[AwaitedEvent]:
        """As `Engine.events_after`."""
        return await self._waiting.events_after(event, since)

    async def wait(self, job: Claim, waits: Sequence[JobWait], *, also: StepResults = ()) -> bool:
        """As `Engine.wait`."""
        return await self._waiting.wait(job, waits, also=also)

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
            await self.database.change(self._sql.wake_due, (now, self.dialect.batch_size))
        return None if due is None else int(due)

    async def set_ticks(self, ticks: Iterable[Tick]) -> None:
        """As `Engine.set_ticks`."""
        rows = [
            {"task": tick.task, "next_at": tick.at, "schedule": tick.schedule} for tick in ticks
        ]  # fmt: skip
        names = json.dumps([row["task"] for row in rows])
        sql = self._sql
        await self.database.write_all(
            [(sql.delete_ticks, (names,)), (sql.set_ticks, (json.dumps(rows),))]
        )

    async def tick(self, due: Callable[[Tick, int], TickDue]) -> int:
        """As `Engine.tick`."""
        now = self._now()
        rows = await self.database.read(
            "SELECT task, next_at, schedule FROM _bbops_ticks WHERE next_at <= ? ORDER BY next_at"
            f" LIMIT {self.dialect.batch_size}",
            (now,),
        )
        if not rows:
            return 0
        ticks = [Tick(*row) for row in rows]
        due_ticks = [(tick, due(tick, now)) for tick in ticks]
        runs = [run for due_tick in due_ticks for run in write_runs(*due_tick)]
        lanes = sorted({run["task"] for run in runs if run["overlap"] != "allow"})
        next_ticks = [write_next_tick(*due_tick) for due_tick in due_ticks]
        lock = self.dialect.lanes_lock
        await self.database.write_all([
            *([(lock, (json.dumps(lanes),))] if lock and lanes else []),
            *self._report_missed(due_ticks),
            (self._sql.insert_runs, (now, now, json.dumps(runs))),
            (self._sql.advance_ticks, (json.dumps(next_ticks),)),
        ])  # fmt: skip
        return len(rows)

    def _report_missed(self, due_ticks: Iterable[tuple[Tick, TickDue]]) -> list[Statement]:
        """Return the statements that emit `bbops.task-missed`, if a trigger needs them."""
        if not self.reports_missed:
            return []
        return [
            (self._sql.report_missed, (TASK_MISSED, tick.task, write_missed(tick, due), self._now(),
                              tick.task, tick.at))
            for tick, due in due_ticks if due.missed
        ]  # fmt: skip

    def now(self) -> int:
        """As `Engine.now`."""
        return self._now()

    def seconds_until(self, at: int) -> float:
        """As `Engine.seconds_until`."""
        return (at - self._now()) / 1000

    # ---- dead workers
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
        rows = await self.database.write(self._sql.reclaim, (self.owner, self._now()))
        return [row[0] for row in rows]


def _as_json(rows: Sequence[object]) -> str:
    """Return rows as JSON: three times as fast as `json` if no text has unpaired surrogates."""
    try:
        return msgspec.json.encode(rows).decode()
    except UnicodeEncodeError:
        return json.dumps(rows)
