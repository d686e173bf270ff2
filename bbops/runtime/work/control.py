"""Job control: list, hold, release, retry, cancel; sizes of a queue."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bbops.base.host import Database
from bbops.base.json_work import Job, JobStory
from bbops.runtime.work.engine import now_ms
from bbops.runtime.work.results import unpack
from bbops.runtime.work.run_record import CODE, UNTIL
from bbops.runtime.work.statements import (
    IS_WAITING,
    KEPT_PAYLOAD,
    NEVER_MS,
    SEAT_STATES,
    Statement,
    WorkDialect,
    enqueue,
    statements,
)
from bbops.runtime.work.values import (
    AT,
    MAX_DEPTH,
    REMOVED_SUFFIX,
    NewJob,
    State,
    Tick,
    format_time,
)

DAY_MS: Final = 86_400_000
KEPT_MS: Final = 7 * DAY_MS
"""The default retention of events and ended jobs, and that of held jobs of removed work."""

DEAD_KEPT_MS: Final = 30 * DAY_MS
MAX_ENDED: Final = 100_000
_MAX_STEPS: Final = 1_000

_WAITING: Final = "state IN ('ready', 'later', 'blocked')"
_COLUMNS: Final = "uid, work, state, attempts, run_at, created_at, coalesce(lane, ''), error"
_ENDED: Final = "uid, work, outcome, attempts, ended_at, created_at, '', error"
_SELECT_JOBS: Final = f"SELECT {_COLUMNS} FROM _bbops_jobs"

_LOG_CANCELLED: Final = (
    "INSERT INTO _bbops_job_log (id, uid, work, payload, outcome, attempts, error, seq, cause,"
    f" depth, created_at, ended_at) SELECT id, uid, work, {KEPT_PAYLOAD}, 'cancelled', attempts,"
    " error, seq, cause, depth, created_at, CAST(? AS bigint) FROM _bbops_jobs WHERE id = ?"
)
_RESULT_CANCELLED: Final = (
    "INSERT INTO _bbops_results (uid, outcome, attempts, ended_at) SELECT uid, 'cancelled',"
    " attempts, CAST(? AS bigint) FROM _bbops_jobs WHERE id = ? AND work LIKE 'functions/%'"
    " ON CONFLICT (uid) DO NOTHING"
)
_DELETE_KEYS: Final = (
    "DELETE FROM _bbops_keys WHERE NOT EXISTS (SELECT 1 FROM _bbops_jobs AS j"
    " WHERE j.uid = _bbops_keys.uid) AND NOT EXISTS (SELECT 1 FROM _bbops_outbox AS o"
    " WHERE o.name = '' AND o.key = _bbops_keys.uid)"
)
_DELETE_EVENTS: Final = (
    "DELETE FROM _bbops_events WHERE at < ? AND seq < (SELECT max(seq) FROM _bbops_events)"
    " AND NOT EXISTS (SELECT 1 FROM _bbops_awaited AS w WHERE w.event = _bbops_events.name"
    " AND w.since < _bbops_events.seq)"
)
_DELETE_ENDED: Final = (
    "DELETE FROM _bbops_job_log WHERE ended_at < ? OR id <= (SELECT id FROM _bbops_job_log"
    f" ORDER BY id DESC LIMIT 1 OFFSET {MAX_ENDED})"
)
_REMOVED: Final = (
    f"SELECT uid FROM _bbops_jobs WHERE state = 'held' AND lease < ?"
    f" AND error LIKE '%{REMOVED_SUFFIX}'"
    " AND NOT EXISTS (SELECT 1 FROM _bbops_steps AS s WHERE s.job = _bbops_jobs.id) LIMIT 1000"
)
"""Jobs of removed work that have not begun and have been held since before a time."""

UNIQUE: Final = "unique "
"""Prefix of the lane of jobs with `unique` whose work has no lanes; their key follows."""

NOT_BEGUN: Final = (
    "j.state NOT IN ('running', 'dead') AND j.attempts = 0"
    " AND NOT EXISTS (SELECT 1 FROM _bbops_steps AS s WHERE s.job = j.id)"
)
"""Condition: job `j` has not read anything yet."""

_REPLACING: Final = (
    f"_bbops_keys AS k JOIN _bbops_jobs AS j ON j.uid = k.uid AND {NOT_BEGUN}"
    f" WHERE dead.state = 'dead' AND dead.lane = '{UNIQUE}' || k.key AND j.id <> dead.id"
)
_HAS_REPLACEMENT: Final = (
    f"EXISTS (SELECT 1 FROM _bbops_jobs AS dead, {_REPLACING} AND dead.id = _bbops_jobs.id)"
)
_REPLACEMENT: Final = f"SELECT j.uid FROM _bbops_jobs AS dead, {_REPLACING} AND dead.uid = ?"
"""Query of the job that replaces a dead job. Parameter: uid."""

_OLD_DEAD: Final = "FROM _bbops_jobs WHERE state = 'dead' AND created_at < ?"
_IS_LATER: Final = f"state = 'held' AND NOT {IS_WAITING}"
_REQUEUE: Final = (
    f"UPDATE _bbops_jobs SET error = '', run_at = CASE WHEN {_IS_LATER} THEN run_at ELSE 0 END,"
    " state = CASE WHEN lane IS NOT NULL THEN 'blocked'"
    f" WHEN run_at > CAST(? AS bigint) AND {_IS_LATER} THEN 'later' ELSE 'ready' END WHERE "
)
"""Requeues jobs. A job that waits for an event runs, as the event may be in the log already."""

_CAN_RUN: Final = f"uid = ? AND (state = 'held' OR state = 'later' AND NOT {IS_WAITING})"
"""Condition: a user may run the job now. A job at a `wait` would only wait again."""

_RENAME_TICK: Final = (
    "UPDATE _bbops_ticks SET task = ? WHERE task = ?"
    " AND NOT EXISTS (SELECT 1 FROM _bbops_ticks AS other WHERE other.task = ?)"
)

_DELETE_AWAITED: Final = (
    "DELETE FROM _bbops_awaited WHERE NOT EXISTS"
    " (SELECT 1 FROM _bbops_jobs AS j WHERE j.id = _bbops_awaited.job)"
)
_CAUSE: Final = (
    "SELECT cause FROM _bbops_jobs WHERE uid = ?"
    " UNION ALL SELECT cause FROM _bbops_job_log WHERE uid = ?"
)


@dataclass(frozen=True, slots=True)
class CodeInUse:
    """The code of begun jobs: the work and the digest, with the number of jobs."""

    code: tuple[str, str]
    jobs: int


class WorkControl:
    """A project's queue for users. Any process may use it while workers run."""

    def __init__(
        self, database: Database, dialect: WorkDialect, *, now: Callable[[], int] = now_ms
    ) -> None:
        self._database, self._dialect, self._now = database, dialect, now
        self._sql = statements(dialect)

    async def counts(self) -> dict[str, int]:
        """Return the number of jobs by state."""
        rows = await self._database.read("SELECT state, count(*) FROM _bbops_jobs GROUP BY state")
        return dict(sorted(rows))

    async def jobs(self, *, state: State | None = None, limit: int = 100) -> list[Job]:
        """Return jobs that have not ended, oldest first."""
        where, parameters = (" WHERE state = ?", (state,)) if state else ("", ())
        rows = await self._database.read(
            f"{_SELECT_JOBS}{where} ORDER BY id LIMIT ?", (*parameters, limit)
        )
        return [_read_job(row) for row in rows]

    async def ended(self, *, limit: int = 100) -> list[Job]:
        """Return jobs that have ended, newest first."""
        sql = f"SELECT {_ENDED} FROM _bbops_job_log ORDER BY ended_at DESC, id DESC LIMIT ?"
        return [_read_job(row) for row in await self._database.read(sql, (limit,))]

    async def details(self, uid: str) -> JobStory | None:
        """Return the details of a job that has ended or not; None if it is unknown."""
        read = self._database.read
        more = "payload, cause, id"
        rows = await read(f"SELECT {_COLUMNS}, {more} FROM _bbops_jobs WHERE uid = ?", (uid,))
        rows = rows or await read(
            f"SELECT {_ENDED}, {more} FROM _bbops_job_log WHERE uid = ? ORDER BY id DESC LIMIT 1",
            (uid,),
        )
        if not rows:
            return None
        *summary, payload, cause, job_id = rows[0]
        steps = await read(
            "SELECT path FROM _bbops_steps WHERE job = ? AND path LIKE '%.yaml:%'"
            f" AND path NOT LIKE '%{UNTIL}' ORDER BY path LIMIT {_MAX_STEPS}",
            (job_id,),
        )
        causes = [cause async for cause in self._causes(cause)]
        job, paths = _read_job(summary), [path for (path,) in steps]
        waits = await list_waits(self._database, job, job_id)
        return JobStory(job, payload, causes, paths, waits)

    async def _causes(self, cause: str) -> AsyncIterator[str]:
        """Yield a cause, the cause of that job, and so on."""
        for _ in range(MAX_DEPTH + 2):
            if not cause:
                return
            yield cause
            job = cause.partition(AT)[0]
            rows = await self._database.read(_CAUSE, (job, job))
            cause = str(rows[0][0]) if rows else ""

    async def counts_by_work(self) -> dict[str, tuple[int, int]]:
        """Return the numbers of begun and of waiting jobs by work, without dead jobs. O(jobs)."""
        rows = await self._database.read(
            "SELECT work, sum(is_begun), sum(1 - is_begun) FROM (SELECT work, CASE WHEN EXISTS"
            " (SELECT 1 FROM _bbops_steps WHERE job = id AND path = ?) THEN 1 ELSE 0 END"
            " AS is_begun FROM _bbops_jobs WHERE state <> 'dead') AS jobs GROUP BY work",
            (CODE,),
        )
        return {work: (int(begun), int(waiting)) for work, begun, waiting in rows}

    async def code_in_use(self) -> list[CodeInUse]:
        """Return the code of begun jobs that have not ended, including dead jobs."""
        rows = await self._database.read(
            "SELECT j.work, s.result, count(*) FROM _bbops_steps AS s JOIN _bbops_jobs AS j"
            " ON j.id = s.job WHERE s.path = ? GROUP BY j.work, s.result",
            (CODE,),
        )
        return [CodeInUse((work, str(unpack(code))), jobs) for work, code, jobs in rows]

    async def ticks(self) -> list[Tick]:
        """Return the next ticks of tasks, earliest first."""
        rows = await self._database.read(
            "SELECT task, next_at, schedule FROM _bbops_ticks WHERE next_at < ? ORDER BY next_at",
            (NEVER_MS,),
        )
        return [Tick(*row) for row in rows]

    async def run_now(self, work: str, uid: str) -> None:
        """Create a job of a task that runs as soon as possible."""
        await self._database.write_all([enqueue(NewJob(uid, work, "{}"), self._now())])

    async def hold(self, reason: str) -> int:
        """Hold all waiting jobs until they are released; return the number of jobs.

        Running jobs continue. Jobs that are created later are not held.
        """
        return await self._database.change(
            f"UPDATE _bbops_jobs SET state = 'held', error = ? WHERE {_WAITING}", (reason,)
        )

    async def release(self, uids: Sequence[str] | None = None, *, reason: str = "") -> int:
        """Release held jobs, in the order of their lanes; return the number of jobs.

        Args:
            uids: the jobs; None for all.
            reason: if set, only jobs with this hold reason.
        """
        where, parameters = "state = 'held'", list[object]()
        if uids is not None:
            where += f" AND uid IN ({self._dialect.texts})"
            parameters.append(json.dumps([*uids]))
        if reason:
            where += " AND error = ?"
            parameters.append(reason)
        return await self._requeue(where, parameters)

    async def replacement(self, uid: str) -> str:
        """Return the uid of the job that replaces a dead job with the same `unique`; may be empty.

        The replacement has not begun, so it reads all rows that the dead job should have read.
        """
        rows = await self._database.read(_REPLACEMENT, (uid,))
        return str(rows[0][0]) if rows else ""

    async def retry(self, uid: str, *, from_start: bool = False) -> bool:
        """Retry a dead, held or waiting job now; return whether it was requeued.

        Its attempts are reset. A dead job with a `replacement` stays dead.

        Args:
            uid: the job.
            from_start: delete its recorded steps, so that it runs from the beginning.
        """
        where = f"uid = ? AND state IN ('dead', 'held', 'later') AND NOT {_HAS_REPLACEMENT}"
        before: list[Statement] = [
            (f"DELETE FROM {table} WHERE job IN (SELECT id FROM _bbops_jobs WHERE {where})", (uid,))
            for table in (("_bbops_steps", "_bbops_awaited") if from_start else ())
        ]
        before.append((f"UPDATE _bbops_jobs SET attempts = 0 WHERE {where}", (uid,)))
        return bool(await self._requeue(where, [uid], before))

    async def run(self, uid: str) -> bool:
        """Run a held job, or a job that waits for a time, now; return whether it was requeued.

        Its attempts are not reset. If another job has the lane, this job runs next.
        """
        make_due: Statement = (f"UPDATE _bbops_jobs SET run_at = 0 WHERE {_CAN_RUN}", (uid,))
        return bool(await self._requeue(_CAN_RUN, [uid], [make_due]))

    async def rename_ticks(self, names: Mapping[str, str]) -> None:
        """Rename the ticks of renamed tasks. Args: `names`: new names by old names."""
        await self._database.write_all(
            [(_RENAME_TICK, (new, old, new)) for old, new in names.items()]
        )

    async def cancel(self, uid: str) -> bool:
        """Cancel a job; a running job stops at its next step. Return whether the job existed."""
        rows = await self._database.read(
            "SELECT id, coalesce(lane, '') FROM _bbops_jobs WHERE uid = ?", (uid,)
        )
        if not rows:
            return False
        job_id, lane = rows[0]
        results = await self._database.write_all([
            *self._lock_lanes([lane] if lane else []),
            (_LOG_CANCELLED, (self._now(), job_id)), (_RESULT_CANCELLED, (self._now(), job_id)),
            ("DELETE FROM _bbops_steps WHERE job = ?", (job_id,)),
            ("DELETE FROM _bbops_jobs WHERE id = ? RETURNING id", (job_id,)),
            *self._open_lanes([lane] if lane else []),
        ])  # fmt: skip
        return any(row == (job_id,) for rows in results for row in map(tuple, rows))

    async def sweep(self, keep_ms: int = KEPT_MS) -> int:
        """Delete old events, jobs and deliveries; return the number of rows.

        The log keeps its newest event.

        Args:
            keep_ms: the retention of ended jobs, their results and events.
        """
        old, dead = self._now() - keep_ms, self._now() - DEAD_KEPT_MS
        for (uid,) in await self._database.read(_REMOVED, (self._now() - KEPT_MS,)):
            await self.cancel(uid)
        deleted = await self._database.write_all([
            (_DELETE_AWAITED, ()),
            ("DELETE FROM _bbops_unique WHERE until < ?", (self._now(),)),
            (_DELETE_EVENTS, (old,)),
            (_DELETE_ENDED, (old,)),
            (f"DELETE FROM _bbops_steps WHERE job IN (SELECT id {_OLD_DEAD})", (dead,)),
            (f"DELETE {_OLD_DEAD}", (dead,)),
            ("DELETE FROM _bbops_received WHERE received_at < ?", (dead,)),
            ("DELETE FROM _bbops_messages WHERE at < ?", (dead,)),
            ("DELETE FROM _bbops_sent WHERE tried_at < ?", (dead,)),
            ("DELETE FROM _bbops_tries WHERE at < ?", (dead,)),
            ("DELETE FROM _bbops_results WHERE ended_at < ?", (old,)), (_DELETE_KEYS, ()),
        ])  # fmt: skip
        return sum(int(rows[0][0]) for rows in deleted)

    async def _requeue(
        self, where: str, parameters: Sequence[object], before: Sequence[Statement] = ()
    ) -> int:
        """Requeue jobs: a job with a lane waits for earlier jobs of the lane.

        Args:
            where: the condition of the jobs.
            parameters: its parameters.
            before: statements that run first in the same transaction, before a claim can happen.
        """
        rows = await self._database.read(
            "SELECT lane, max(seats) FROM _bbops_jobs"
            f" WHERE lane IS NOT NULL AND {where} GROUP BY lane ORDER BY lane",
            parameters,
        )
        lanes = [lane for lane, _ in rows]
        results = await self._database.write_all([
            *self._lock_lanes(lanes),
            *before,
            (_REQUEUE + where, (self._now(), *parameters)),
            *self._open_lanes([lane for lane, seats in rows for _ in range(seats)]),
        ])  # fmt: skip
        at = len(before) + (1 if lanes and self._dialect.lanes_lock else 0)
        return int(results[at][0][0])

    def _lock_lanes(self, lanes: list[str]) -> list[Statement]:
        lock = self._dialect.lanes_lock
        return [(lock, (json.dumps(lanes),))] if lock and lanes else []

    def _open_lanes(self, lanes: list[str]) -> list[Statement]:
        return [(self._sql.open_lanes, (self._now(), json.dumps([lane]))) for lane in lanes]


_JOBS: Final = "SELECT work, state, count(*) FROM _bbops_jobs GROUP BY work, state"
_OLDEST: Final = "SELECT min(at) FROM _bbops_outbox"


@dataclass(frozen=True, slots=True)
class QueueSizes:
    """The number of jobs and the age of the outbox of a queue.

    Attributes:
        jobs: work, state and number of jobs that have not ended.
        oldest_seconds: the age of the oldest outbox row; 0 without rows.
    """

    jobs: Sequence[tuple[str, str, int]]
    oldest_seconds: float


async def read_sizes(database: Database, now: int) -> QueueSizes:
    """Return the sizes of a project's queue. O(jobs), two reads."""
    jobs = await database.read(_JOBS)
    ((oldest,),) = await database.read(_OLDEST)
    age = 0.0 if oldest is None else max(0, now - oldest) / 1000
    return QueueSizes([(work, state, int(count)) for work, state, count in jobs], age)


async def read_snapshot_age(database: Database, dialect: WorkDialect) -> float | None:
    """Return the age in seconds of the oldest snapshot, which keeps old rows of the queue.

    Source: PostgreSQL, "Routine Vacuuming" and the view pg_stat_activity.

    Returns:
        0 without a snapshot; None if the database cannot report it.
    """
    if not dialect.snapshot_age_query:
        return None
    ((age,),) = await database.read(dialect.snapshot_age_query)
    return max(0.0, float(age))


MAX_SHOWN: Final = 20
"""The most waits that are shown for a job."""

_AWAITED: Final = (
    "SELECT event, path FROM _bbops_awaited WHERE job = ? AND path <> ''"
    f" ORDER BY path, event LIMIT {MAX_SHOWN}"
)
_LANE_HOLDERS: Final = (
    f"SELECT uid, state FROM _bbops_jobs WHERE lane = ? AND state IN {SEAT_STATES} ORDER BY id"
    f" LIMIT {MAX_SHOWN}"
)


def _read_job(row: Sequence[Any]) -> Job:
    *fields, run_at, created_at, lane, error = row
    fields += run_at / 1000, created_at / 1000, lane, error
    return Job(*fields)


def step_location(path: str) -> str:
    """Return file and line of a recorded step, without its position in loops and calls."""
    return path.partition("#")[0]


async def list_waits(database: Database, job: Job, job_id: int) -> list[str]:
    """Return descriptions of what a job waits for; empty if it does not wait.

    Args:
        database: the project's database.
        job: the job.
        job_id: the id of its row.
    """
    if job.state == "blocked":
        rows = await database.read(_LANE_HOLDERS, (job.lane,))
        return [f"its turn in lane {job.lane}: {uid} is {state}" for uid, state in rows]
    if job.state != "later":
        return []
    until = format_time(round(1000 * job.run_at))
    if job.error:
        return [f"attempt {job.attempts + 1}, at {until}"]
    events = await database.read(_AWAITED, (job_id,))
    waits = [f"event {event} until {until}, at {step_location(path)}" for event, path in events]
    return waits or [f"the time {until}"]
