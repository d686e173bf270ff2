"""Job control: list, hold, release, retry, cancel."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bbops.base.host import Database
from bbops.runtime.work.engine import now_ms
from bbops.runtime.work.results import unpack
from bbops.runtime.work.run_record import CODE, UNTIL
from bbops.runtime.work.statements import (
    IS_WAITING,
    KEPT_PAYLOAD,
    NEVER_MS,
    SEAT_STATES,
    WorkDialect,
    Statement,
    enqueue,
    statements,
)
from bbops.runtime.work.values import (
    AT,
    MAX_DEPTH,
    REMOVED_SUFFIX,
    JobSummary,
    NewJob,
    State,
    JobDetails,
    Tick,
    format_time,
)

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


async def read_snapshot_age(database: Database, dialect: WorkDialect) -> float | None:
    """Return the age in seconds of the oldest snapshot that keeps old rows of the queue.

    Source: PostgreSQL, "Routine Vacuuming" and the view pg_stat_activity.

    Returns:
        0 without such a snapshot; None where the database cannot report it.
    """
    if not dialect.snapshot_age:
        return None
    ((age,),) = await database.read(dialect.snapshot_age)
    return max(0.0, float(age))


MAX_SHOWN: Final = 20
"""Of what one job waits for."""

_AWAITED: Final = (
    "SELECT event, path FROM _bbops_awaited WHERE job = ? AND path <> ''"
    f" ORDER BY path, event LIMIT {MAX_SHOWN}"
)
_LANE_HOLDERS: Final = (
    f"SELECT uid, state FROM _bbops_jobs WHERE lane = ? AND state IN {SEAT_STATES} ORDER BY id"
    f" LIMIT {MAX_SHOWN}"
)


def step_location(path: str) -> str:
    """Return file and line of a recorded step, without its place in loops and calls."""
    return path.partition("#")[0]


async def list_waits(database: Database, job: JobSummary, number: int) -> list[str]:
    """Return what a job waits for; nothing for one that does not.

    Args:
        database: the project's.
        job: as it is listed.
        number: its row.
    """
    if job.state == "blocked":
        rows = await database.read(_LANE_HOLDERS, (job.lane,))
        return [f"its turn in lane {job.lane}: {uid} is {state}" for uid, state in rows]
    if job.state != "later":
        return []
    until = format_time(job.run_at)
    if job.error:
        return [f"attempt {job.attempts + 1}, at {until}"]
    events = await database.read(_AWAITED, (number,))
    named = [f"event {event} until {until}, at {step_location(path)}" for event, path in events]
    return named or [f"the time {until}"]


DAY_MS: Final = 86_400_000
KEPT_MS: Final = 7 * DAY_MS
"""So long events and ended jobs are kept by default, and held jobs of removed work always."""

DEAD_KEPT_MS: Final = 30 * DAY_MS
MAX_ENDED: Final = 100_000
_MAX_STEPS: Final = 1_000

_WAITING: Final = "state IN ('ready', 'later', 'blocked')"
_COLUMNS: Final = "uid, work, state, attempts, run_at, coalesce(lane, ''), error, created_at"
_ENDED: Final = "uid, work, outcome, attempts, ended_at, '', error, created_at"
_SELECT_JOBS: Final = f"SELECT {_COLUMNS} FROM _bbops_jobs"

_LOG_CANCELLED: Final = (
    "INSERT INTO _bbops_job_log (id, uid, work, payload, outcome, attempts, error, seq, cause,"
    f" depth, created_at, ended_at) SELECT id, uid, work, {KEPT_PAYLOAD}, 'cancelled', attempts, error,"
    " seq, cause, depth, created_at, CAST(? AS bigint) FROM _bbops_jobs WHERE id = ?"
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
    f"SELECT uid FROM _bbops_jobs WHERE state = 'held' AND lease < ? AND error LIKE '%{REMOVED_SUFFIX}'"
    " AND NOT EXISTS (SELECT 1 FROM _bbops_steps AS s WHERE s.job = _bbops_jobs.id) LIMIT 1000"
)
"""Jobs that have not begun, of what is gone since a time."""

UNIQUE: Final = "unique "
"""Begins the lane of jobs with a `unique` whose work has no lanes; behind it stands their key."""

NOT_BEGUN: Final = (
    "j.state NOT IN ('running', 'dead') AND j.attempts = 0"
    " AND NOT EXISTS (SELECT 1 FROM _bbops_steps AS s WHERE s.job = j.id)"
)
"""A job `j` has not read anything."""

_REPLACING: Final = (
    f"_bbops_keys AS k JOIN _bbops_jobs AS j ON j.uid = k.uid AND {NOT_BEGUN}"
    f" WHERE dead.state = 'dead' AND dead.lane = '{UNIQUE}' || k.key AND j.id <> dead.id"
)
_HAS_REPLACEMENT: Final = (
    f"EXISTS (SELECT 1 FROM _bbops_jobs AS dead, {_REPLACING} AND dead.id = _bbops_jobs.id)"
)
_REPLACEMENT: Final = f"SELECT j.uid FROM _bbops_jobs AS dead, {_REPLACING} AND dead.uid = ?"
"""Gives the job that replaces a dead one: uid."""

_OLD_DEAD: Final = "FROM _bbops_jobs WHERE state = 'dead' AND created_at < ?"
_IS_LATER: Final = f"state = 'held' AND NOT {IS_WAITING}"
_REQUEUE: Final = (
    f"UPDATE _bbops_jobs SET error = '', run_at = CASE WHEN {_IS_LATER} THEN run_at ELSE 0 END,"
    " state = CASE WHEN lane IS NOT NULL THEN 'blocked'"
    f" WHEN run_at > CAST(? AS bigint) AND {_IS_LATER} THEN 'later' ELSE 'ready' END WHERE "
)
"""One that waits for an event looks again: it may have come while the job was held."""

_CAN_RUN: Final = f"uid = ? AND (state = 'held' OR state = 'later' AND NOT {IS_WAITING})"
"""A job that runs on request: at a `wait`, it would only sleep again."""

_RENAME_TICK: Final = (
    "UPDATE _bbops_ticks SET task = ? WHERE task = ?"
    " AND NOT EXISTS (SELECT 1 FROM _bbops_ticks AS other WHERE other.task = ?)"
)

_DELETE_AWAITED: Final = (
    "DELETE FROM _bbops_awaited WHERE NOT EXISTS"
    " (SELECT 1 FROM _bbops_jobs AS j WHERE j.id = _bbops_awaited.job)"
)


@dataclass(frozen=True, slots=True)
class CodeInUse:
    """Code that jobs have begun with: the name of the work and the digest, and how many jobs."""

    code: tuple[str, str]
    jobs: int


_CAUSE: Final = (
    "SELECT cause FROM _bbops_jobs WHERE uid = ?"
    " UNION ALL SELECT cause FROM _bbops_job_log WHERE uid = ?"
)


class WorkControl:
    """The queue of one project, as people see it. Any process may use it beside the workers."""

    def __init__(
        self, database: Database, dialect: WorkDialect, *, now: Callable[[], int] = now_ms
    ) -> None:
        self._database, self._dialect, self._now = database, dialect, now
        self._say = statements(dialect)

    async def counts(self) -> dict[str, int]:
        """Return how many jobs are in each state that one is in."""
        rows = await self._database.read("SELECT state, count(*) FROM _bbops_jobs GROUP BY state")
        return dict(sorted(rows))

    async def jobs(self, *, state: State | None = None, most: int = 100) -> list[JobSummary]:
        """Return jobs that have not ended, the oldest first."""
        where, given = (" WHERE state = ?", (state,)) if state else ("", ())
        rows = await self._database.read(f"{_SELECT_JOBS}{where} ORDER BY id LIMIT ?", (*given, most))
        return [JobSummary(*row) for row in rows]

    async def ended(self, *, most: int = 100) -> list[JobSummary]:
        """Return jobs that have ended, the last one first."""
        sql = f"SELECT {_ENDED} FROM _bbops_job_log ORDER BY ended_at DESC, id DESC LIMIT ?"
        return [JobSummary(*row) for row in await self._database.read(sql, (most,))]

    async def story(self, uid: str) -> JobDetails | None:
        """Return what is known of a job, also of one that has ended; None where nothing is."""
        read = self._database.read
        more = "payload, cause, id"
        rows = await read(f"SELECT {_COLUMNS}, {more} FROM _bbops_jobs WHERE uid = ?", (uid,))
        rows = rows or await read(
            f"SELECT {_ENDED}, {more} FROM _bbops_job_log WHERE uid = ? ORDER BY id DESC LIMIT 1",
            (uid,),
        )
        if not rows:
            return None
        *listed, payload, cause, number = rows[0]
        steps = await read(
            "SELECT path FROM _bbops_steps WHERE job = ? AND path LIKE '%.yaml:%'"
            f" AND path NOT LIKE '%{UNTIL}' ORDER BY path LIMIT {_MAX_STEPS}",
            (number,),
        )
        causes = [one async for one in self._causes(cause)]
        job, paths = JobSummary(*listed), tuple(path for (path,) in steps)
        waits = await list_waits(self._database, job, number)
        return JobDetails(job, payload, causes, paths, waits)

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
        """Return how many jobs have begun, and how many wait, by what they run; without dead ones.

        O(jobs).
        """
        rows = await self._database.read(
            "SELECT work, sum(is_begun), sum(1 - is_begun) FROM (SELECT work, CASE WHEN EXISTS"
            " (SELECT 1 FROM _bbops_steps WHERE job = id AND path = ?) THEN 1 ELSE 0 END"
            " AS is_begun FROM _bbops_jobs WHERE state <> 'dead') AS jobs GROUP BY work",
            (CODE,),
        )
        return {work: (int(begun), int(waiting)) for work, begun, waiting in rows}

    async def begun(self) -> list[CodeInUse]:
        """Return which code jobs have begun with that have not ended, dead ones included."""
        rows = await self._database.read(
            "SELECT j.work, s.result, count(*) FROM _bbops_steps AS s JOIN _bbops_jobs AS j"
            " ON j.id = s.job WHERE s.path = ? GROUP BY j.work, s.result",
            (CODE,),
        )
        return [CodeInUse((work, str(unpack(code))), jobs) for work, code, jobs in rows]

    async def ticks(self) -> list[Tick]:
        """Return when tasks run next, the next one first."""
        rows = await self._database.read(
            "SELECT task, next_at, schedule FROM _bbops_ticks WHERE next_at < ? ORDER BY next_at",
            (NEVER_MS,),
        )
        return [Tick(*row) for row in rows]

    async def run_now(self, work: str, uid: str) -> None:
        """Make a job of a task that runs as soon as one can."""
        await self._database.write_all([enqueue(NewJob(uid, work, "{}"), self._now())])

    async def hold(self, reason: str) -> int:
        """Let nothing begin that waits now, until it is released; return how many jobs wait so.

        What runs goes on. Jobs that are made later are not held.
        """
        return await self._database.change(
            f"UPDATE _bbops_jobs SET state = 'held', error = ? WHERE {_WAITING}", (reason,)
        )

    async def release(self, uids: Sequence[str] | None = None, *, reason: str = "") -> int:
        """Let held jobs go on, in the order of their lanes; return how many.

        Args:
            uids: these only; all where it is left out.
            reason: those only that are held for it; whatever it is where it is left out.
        """
        where, given = "state = 'held'", list[object]()
        if uids is not None:
            where += f" AND uid IN ({self._dialect.texts})"
            given.append(json.dumps([*uids]))
        if reason:
            where += " AND error = ?"
            given.append(reason)
        return await self._seat(where, given)

    async def replacement(self, uid: str) -> str:
        """Return the job that does the work of a dead one with the same `unique`; empty for none.

        It has not begun, so it sees all that the dead one was to see.
        """
        rows = await self._database.read(_REPLACEMENT, (uid,))
        return str(rows[0][0]) if rows else ""

    async def retry(self, uid: str, *, from_start: bool = False) -> bool:
        """Try a job again now that is dead, held or waits to be tried; return whether it is.

        Its attempts are counted from zero again. A dead job with a `replacement` stays dead.

        Args:
            uid: the job.
            from_start: forget what it has done, and do it again.
        """
        where = f"uid = ? AND state IN ('dead', 'held', 'later') AND NOT {_HAS_REPLACEMENT}"
        anew: list[Statement] = [
            (f"DELETE FROM {table} WHERE job IN (SELECT id FROM _bbops_jobs WHERE {where})", (uid,))
            for table in (("_bbops_steps", "_bbops_awaited") if from_start else ())
        ]
        anew.append((f"UPDATE _bbops_jobs SET attempts = 0 WHERE {where}", (uid,)))
        return bool(await self._seat(where, [uid], anew))

    async def run(self, uid: str) -> bool:
        """Run a job now that is held or waits for a time; return whether it does.

        Its attempts count on. In a lane that another job has, it runs next.
        """
        now: Statement = (f"UPDATE _bbops_jobs SET run_at = 0 WHERE {_CAN_RUN}", (uid,))
        return bool(await self._seat(_CAN_RUN, [uid], [now]))

    async def carry_over(self, names: Mapping[str, str]) -> None:
        """Let the next times of tasks go on under another name."""
        given = [(new, old, new) for old, new in names.items()]
        await self._database.write_all([(_RENAME_TICK, one) for one in given])

    async def cancel(self, uid: str) -> bool:
        """End a job without running it, or at the next step of one that runs."""
        rows = await self._database.read(
            "SELECT id, coalesce(lane, '') FROM _bbops_jobs WHERE uid = ?", (uid,)
        )
        if not rows:
            return False
        number, lane = rows[0]
        done = await self._database.write_all([
            *self._locked([lane] if lane else []),
            (_LOG_CANCELLED, (self._now(), number)), (_RESULT_CANCELLED, (self._now(), number)),
            ("DELETE FROM _bbops_steps WHERE job = ?", (number,)),
            ("DELETE FROM _bbops_jobs WHERE id = ? RETURNING id", (number,)),
            *self._opened([lane] if lane else []),
        ])  # fmt: skip
        return any(row == (number,) for rows in done for row in map(tuple, rows))

    async def sweep(self, keep_ms: int = KEPT_MS) -> int:
        """Forget old events, jobs and deliveries; the log keeps its newest event.

        Args:
            keep_ms: for how long ended jobs, their results and events are kept.
        """
        old, dead = self._now() - keep_ms, self._now() - DEAD_KEPT_MS
        for (uid,) in await self._database.read(_REMOVED, (self._now() - KEPT_MS,)):
            await self.cancel(uid)
        gone = await self._database.write_all([
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
        return sum(int(rows[0][0]) for rows in gone)

    async def _seat(
        self, where: str, given: Sequence[object], before: Sequence[Statement] = ()
    ) -> int:
        """Let jobs wait for their turn: those of lanes behind who came before them.

        Args:
            where: which jobs.
            given: its parameters.
            before: what is done to them in the same transaction, so that no claim comes between.
        """
        rows = await self._database.read(
            "SELECT lane, max(seats) FROM _bbops_jobs"
            f" WHERE lane IS NOT NULL AND {where} GROUP BY lane ORDER BY lane",
            given,
        )
        lanes = [lane for lane, _ in rows]
        done = await self._database.write_all([
            *self._locked(lanes),
            *before,
            (_REQUEUE + where, (self._now(), *given)),
            *self._opened([lane for lane, seats in rows for _ in range(seats)]),
        ])  # fmt: skip
        at = len(before) + (1 if lanes and self._dialect.locks_lanes else 0)
        return int(done[at][0][0])

    def _locked(self, lanes: list[str]) -> list[Statement]:
        lock = self._dialect.locks_lanes
        return [(lock, (json.dumps(lanes),))] if lock and lanes else []

    def _opened(self, lanes: list[str]) -> list[Statement]:
        return [(self._say.open, (self._now(), json.dumps([lane]))) for lane in lanes]
