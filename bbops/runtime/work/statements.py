"""SQL statements of the engine, by dialect."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Protocol

from bbops.base.host import Parameters
from bbops.runtime.work.rows import ROWS_PREFIX, write_new_job
from bbops.runtime.work.values import BULK, Cause, NewJob, Tick, TickDue, format_time


class WorkDialect(Protocol):
    """Parts of statements. Rows and lists cross as JSON texts, one parameter each."""

    most_at_once: int
    """Events that one `pump` moves, and jobs or ticks that one look makes ready."""

    new_jobs: str
    """A table `j` of the rows of a JSON text, with the columns of NewJob and `ord`."""

    new_events: str
    """A table `j` of the rows of a JSON text: ord, name, key, payload, at, cause, depth."""

    new_ticks: str
    """A table `j` of the rows of a JSON text: task, at, next_at, uid, overlap, ord, schedule and
    run_at."""

    new_keys: str
    """A table `j` of the rows of a JSON text: key, until."""

    new_wakes: str
    """A table `j` of the rows of a JSON text: event, value."""

    new_ends: str
    """A table `j` of the rows of a JSON text: job, fenced, outcome, value."""

    new_records: str
    """A table `j` of four lists: job, fenced, path, result; empty where lists are no parameters."""

    ids: str
    """A query of the numbers of a JSON text."""

    texts: str
    """A query of the texts of a JSON text."""

    among: str
    """A condition behind a column, with `{}` for a query: its value is among the query's."""

    skips_locked: str
    """Ends a query of rows to take: what others are taking is left to them."""

    shares: str
    """Ends a query of one row that must stay as it is until the transaction ends."""

    locks_jobs: str
    """Ends a query of `_bbops_jobs`: its rows stay as they are until the transaction ends."""

    locks_pump: str
    """A statement that keeps other pumps away until the transaction ends; empty without need."""

    locks_lanes: str
    """A statement that does so with the lanes of a JSON text; empty without need."""

    dead_owners: str
    """A condition on `owner`: its worker is dead. It takes this worker's own name."""

    names_cause: str
    """Says in a transaction which job changes rows, for SQL triggers: job, depth."""

    ends_cause: str
    """Ends that; empty where the end of the transaction does."""

    snapshot_age: str
    """A query of the age of the oldest snapshot that keeps old rows, in seconds; empty without
    a way to read it."""

    def __hash__(self) -> int:
        """Statements are made once for each."""
        ...


EMIT: Final = (
    "INSERT INTO _bbops_outbox (name, key, payload, at, cause, depth) VALUES (?, ?, ?, ?, ?, ?)"
)
"""Joins the transaction of whoever emits: name, key, payload, at, cause, depth."""

ENQUEUE: Final = (
    "INSERT INTO _bbops_outbox (name, key, payload, at, cause, depth, job)"
    " VALUES ('', ?, ?, ?, ?, ?, ?)"
)
"""Does so for a job without an event: uid, payload, at, cause, depth, and the job's JSON."""

ENQUEUE_IF: Final = (
    "INSERT INTO _bbops_outbox (name, key, payload, at, cause, depth, job)"
    " SELECT '', uid, CAST(? AS text), CAST(? AS bigint), CAST(? AS text), CAST(? AS bigint),"
    " CAST(? AS text) FROM _bbops_keys WHERE key = ? AND uid = ?"
)
"""Does so where a key is the job's: payload, at, cause, depth, the job's JSON, key, uid."""

HOLD: Final = (
    "UPDATE _bbops_jobs SET state = 'held', error = CASE WHEN error = '' THEN CAST(? AS text)"
    " ELSE error END WHERE state IN ('ready', 'later')"
)
"""Holds jobs that would begin by themselves, of those that a condition behind it says: reason."""

IS_MADE: Final = "uid IN ({}) AND work NOT LIKE 'tasks/%'"
"""Of those that were just made, all but runs of tasks: uids."""

IDLE: Final = (
    "SELECT EXISTS (SELECT 1 FROM _bbops_outbox)"
    " OR EXISTS (SELECT 1 FROM _bbops_jobs WHERE state = 'ready')"
    " OR EXISTS (SELECT 1 FROM _bbops_jobs WHERE state = 'running' AND owner <> ?),"
    " (SELECT min(run_at) FROM _bbops_jobs WHERE state = 'later'),"
    " (SELECT min(next_at) FROM _bbops_ticks)"
)
"""Whether there is something to do, and the next times: the worker's own name."""

SEAT_STATES: Final = "('ready', 'running', 'later', 'held')"
"""States that hold a seat of their lane."""

KEPT_PAYLOAD: Final = f"CASE WHEN payload LIKE '{ROWS_PREFIX}%' THEN '{{}}' ELSE payload END"
"""What is kept of the payload of a job that has ended: no rows."""

AWAITED: Final = "(SELECT count(*) FROM (SELECT 1 FROM _bbops_awaited LIMIT 1) AS one)"
"""1 where some job awaits an event, else 0."""

NEWEST: Final = f"SELECT (SELECT coalesce(max(seq), 0) FROM _bbops_events), {AWAITED}"
"""The newest place in the log, and whether some job awaits an event."""

IS_WAITING: Final = (
    "EXISTS (SELECT 1 FROM _bbops_awaited AS own WHERE own.job = _bbops_jobs.id"
    " AND own.until = _bbops_jobs.run_at)"
)
"""A job sleeps for an event, not for another attempt."""

SIZES: Final = "SELECT id, length(payload) FROM _bbops_outbox ORDER BY id LIMIT ?"
"""How large the payloads of the outbox are: most."""

OUTBOX: Final = (
    "SELECT id, name, key, payload, at, cause, depth, job FROM _bbops_outbox"
    " WHERE id <= ? ORDER BY id LIMIT ?"
)
"""The rows of the outbox up to one: id, most."""

READY: Final = (
    f"SELECT EXISTS (SELECT 1 FROM _bbops_jobs WHERE state = 'ready' AND priority < {BULK}),"
    f" EXISTS (SELECT 1 FROM _bbops_jobs WHERE state = 'ready' AND priority = {BULK})"
)
"""Whether jobs are ready, and whether jobs of BULK are."""

_COLUMNS: Final = "uid, work, payload, lane, seats, priority, run_at, debounced, cause, depth"
_OWN_JOB: Final = "id = ? AND owner = ? AND fence = ?"


Statement = tuple[str, Parameters]


@dataclass(frozen=True, slots=True)
class Statements:
    """All of them, by what they are for. Parameters are named in the order of their `?`."""

    guard: str
    """Fails unless all is as it was read: ids, count, newest seq, whether jobs await events."""

    log: str
    """Writes events behind the newest: seq, rows."""

    route: str
    """Makes jobs: lanes, rows, now."""

    keep_keys: str
    """Says until when keys of jobs are taken: rows."""

    leave: str
    """Empties the outbox: ids."""

    claim: str
    """Takes jobs by priority: owner, lease, most."""

    claim_oldest: str
    """Takes jobs by age: owner, lease, most."""

    claim_bulk: str
    """Takes jobs of the priority BULK, which the two before leave: owner, lease, most."""

    record: str
    """Records a step where the job is still ours: id, owner, fence, path, result."""

    records: str
    """Does so for several steps: owner, ids, fences, paths, results. Empty where one by one."""

    keep: str
    """Writes the records of jobs that end: at, rows of `new_ends`, owner."""

    result: str
    """Keeps what they returned: at, rows, owner."""

    forget: str
    """Forgets their steps: rows, owner."""

    end: str
    """Removes them: rows, owner."""

    open: str
    """Lets the next one into each of several lanes: now, lanes."""

    again: str
    """Puts it back for later: run_at, error, whether the attempt counts not, id, owner, fence."""

    hold: str
    """Puts it away: reason, now, id, owner, fence."""

    report: str
    """Says that it is dead: event, payload, at, id, owner, fence."""

    die: str
    """Gives it up: error, id, owner, fence."""

    wake: str
    """Makes what is due ready: now, most."""

    listen: str
    """Says from which event on a job listens to one: event, id, owner, fence."""

    unwait: str
    """Forgets what it has waited for before: id, owner, fence."""

    wait: str
    """Says what it waits for: path, event, value, since, until, id, owner, fence."""

    doze: str
    """Puts it away, unless an event has come meanwhile: until, until, id, owner, fence."""

    wake_waiting: str
    """Makes jobs ready that wait for an event: rows of `new_wakes`."""

    forget_ticks: str
    """Forgets the tasks that are gone: names of the others."""

    set_ticks: str
    """Sets the first ticks of tasks that are new or run at other times: rows."""

    tick: str
    """Makes the jobs of ticks: now, now, rows."""

    miss: str
    """Says that a task did not run: event, task, payload, at, task, its tick."""

    tock: str
    """Sets the next ticks: rows."""

    reclaim: str
    """Makes what dead workers ran ready: the worker's own name."""


@cache
def statements(of: WorkDialect) -> Statements:
    """Return the statements in a dialect."""
    return Statements(
        guard=(
            "INSERT INTO _bbops_steps (job, path, result) SELECT NULL, '', NULL WHERE"
            f" (SELECT count(*) FROM _bbops_outbox WHERE id IN ({of.ids})) <> ?"
            " OR (SELECT coalesce(max(seq), 0) FROM _bbops_events) <> ?"
            f" OR {AWAITED} <> CAST(? AS bigint)"
        ),
        log=(
            "INSERT INTO _bbops_events (seq, name, key, payload, at, cause, depth)"
            " SELECT CAST(? AS bigint) + ord, name, key, payload, at, cause, depth"
            f" FROM {of.new_events} ORDER BY ord"
        ),
        route=_route(of),
        keep_keys=(
            f"INSERT INTO _bbops_unique (key, until) SELECT key, until FROM {of.new_keys}"
            " WHERE true ON CONFLICT (key) DO UPDATE SET until = excluded.until"
        ),
        leave=f"DELETE FROM _bbops_outbox WHERE id IN ({of.ids})",
        claim=_claim(of, f"priority < {BULK}", "priority, id"),
        claim_oldest=_claim(of, f"priority < {BULK}", "id"),
        claim_bulk=_claim(of, f"priority = {BULK}", "id"),
        record=(
            "INSERT INTO _bbops_steps (job, path, result) VALUES"
            f" ((SELECT id FROM _bbops_jobs WHERE {_OWN_JOB} {of.shares}), ?, ?)"
        ),
        records=_records(of),
        keep=(
            "INSERT INTO _bbops_job_log (id, uid, work, payload, outcome, attempts, error, seq,"
            f" cause, depth, created_at, ended_at) SELECT id, uid, work, {KEPT_PAYLOAD}, outcome, attempts,"
            f" error, seq, cause, depth, created_at, CAST(? AS bigint) FROM {_ending(of)}"
            f" {of.locks_jobs}"
        ),
        result=(
            "INSERT INTO _bbops_results (uid, outcome, attempts, value, ended_at) SELECT uid,"
            f" 'done', attempts, value, CAST(? AS bigint) FROM {_ending(of)}"
            " AND value IS NOT NULL ON CONFLICT (uid) DO NOTHING"
        ),
        forget=f"DELETE FROM _bbops_steps WHERE job IN (SELECT id FROM {_ending(of)})",
        end=f"DELETE FROM _bbops_jobs WHERE id IN (SELECT id FROM {_ending(of)}) RETURNING id",
        open=(
            "UPDATE _bbops_jobs SET state = CASE WHEN run_at > CAST(? AS bigint) THEN 'later'"
            " ELSE 'ready' END WHERE id IN (SELECT (SELECT id FROM _bbops_jobs AS waiting"
            " WHERE lane = ended.value AND state = 'blocked' AND (SELECT count(*)"
            " FROM _bbops_jobs AS seat WHERE seat.lane = ended.value"
            f" AND seat.state IN {SEAT_STATES}) < waiting.seats ORDER BY id LIMIT 1)"
            f" FROM ({of.texts}) AS ended)"
        ),
        again=(
            "UPDATE _bbops_jobs SET state = 'later', run_at = ?, error = ?, owner = NULL,"
            f" attempts = attempts - CAST(? AS integer) WHERE {_OWN_JOB} RETURNING id"
        ),
        hold=(
            "UPDATE _bbops_jobs SET state = 'held', error = ?, lease = ?, owner = NULL"
            f" WHERE {_OWN_JOB} RETURNING id"
        ),
        report=(
            "INSERT INTO _bbops_outbox (name, key, payload, at, cause, depth) SELECT"
            " CAST(? AS text), uid, CAST(? AS text), CAST(? AS bigint), uid, depth + 1"
            f" FROM _bbops_jobs WHERE {_OWN_JOB}"
        ),
        die=(
            "UPDATE _bbops_jobs SET state = 'dead', error = ?, owner = NULL"
            f" WHERE {_OWN_JOB} RETURNING id"
        ),
        wake=(
            "UPDATE _bbops_jobs SET state = 'ready' WHERE id "
            + of.among.format(
                "SELECT id FROM _bbops_jobs WHERE state = 'later' AND run_at <= ?"
                f" ORDER BY run_at LIMIT ? {of.skips_locked}"
            )
        ),
        listen=(
            "INSERT INTO _bbops_awaited (job, path, event, value, since, until) SELECT id, '',"
            " CAST(? AS text), '', (SELECT coalesce(max(seq), 0) FROM _bbops_events), 0"
            f" FROM _bbops_jobs WHERE {_OWN_JOB} ON CONFLICT (job, path, event) DO NOTHING"
        ),
        unwait=(
            "DELETE FROM _bbops_awaited WHERE path <> ''"
            f" AND job IN (SELECT id FROM _bbops_jobs WHERE {_OWN_JOB})"
        ),
        wait=(
            "INSERT INTO _bbops_awaited (job, path, event, value, since, until) SELECT id,"
            " CAST(? AS text), CAST(? AS text), CAST(? AS text), CAST(? AS bigint),"
            f" CAST(? AS bigint) FROM _bbops_jobs WHERE {_OWN_JOB}"
        ),
        doze=(
            "UPDATE _bbops_jobs SET state = CASE WHEN EXISTS (SELECT 1 FROM _bbops_awaited AS w"
            " JOIN _bbops_events AS e ON e.name = w.event AND e.seq > w.since"
            " WHERE w.job = _bbops_jobs.id AND w.until = CAST(? AS bigint)) THEN 'ready'"
            " ELSE 'later' END, run_at = CAST(? AS bigint), error = '', owner = NULL,"
            f" attempts = attempts - 1 WHERE {_OWN_JOB} RETURNING id"
        ),
        wake_waiting=(
            "UPDATE _bbops_jobs SET state = 'ready' WHERE state = 'later' AND id IN (SELECT w.job"
            f" FROM {of.new_wakes} JOIN _bbops_awaited AS w ON w.event = j.event"
            f" AND w.value = j.value AND w.path <> '') AND {IS_WAITING}"
        ),
        forget_ticks=f"DELETE FROM _bbops_ticks WHERE task NOT IN ({of.texts})",
        set_ticks=(
            "INSERT INTO _bbops_ticks (task, next_at, schedule)"
            f" SELECT task, next_at, schedule FROM {of.new_ticks} WHERE true"
            " ON CONFLICT (task) DO UPDATE SET next_at = excluded.next_at,"
            " schedule = excluded.schedule WHERE _bbops_ticks.schedule <> excluded.schedule"
        ),
        tick=_tick(of),
        miss=(
            "INSERT INTO _bbops_outbox (name, key, payload, at, cause, depth) SELECT"
            " CAST(? AS text), CAST(? AS text), CAST(? AS text), CAST(? AS bigint), '', 0"
            " FROM _bbops_ticks WHERE task = ? AND next_at = ?"
        ),
        tock=(
            f"UPDATE _bbops_ticks SET next_at = j.next_at FROM {of.new_ticks}"
            " WHERE _bbops_ticks.task = j.task AND _bbops_ticks.next_at = j.at"
        ),
        reclaim=(
            "UPDATE _bbops_jobs SET state = 'ready', owner = NULL WHERE state = 'running'"
            f" AND {of.dead_owners} RETURNING uid"
        ),
    )


def _ending(of: WorkDialect) -> str:
    """Return the jobs that end, of those that are still ours: rows, owner."""
    return (
        f"_bbops_jobs JOIN {of.new_ends} ON j.job = _bbops_jobs.id"
        " AND j.fenced = _bbops_jobs.fence WHERE owner = ?"
    )


def _records(of: WorkDialect) -> str:
    """Return what records several steps; a job that is not ours any more makes all fail."""
    if not of.new_records:
        return ""
    return (
        "INSERT INTO _bbops_steps (job, path, result) SELECT (SELECT id FROM _bbops_jobs"
        f" WHERE id = j.job AND owner = ? AND fence = j.fenced {of.shares}), j.path, j.result"
        f" FROM {of.new_records}"
    )


def _route(of: WorkDialect) -> str:
    """Return what makes jobs: each takes a seat of its lane if one is left for it."""
    return (
        "WITH taken AS (SELECT lane, count(*) AS seats FROM _bbops_jobs"
        f" WHERE lane IN ({of.texts}) AND state <> 'dead' GROUP BY lane),"
        f" found AS (SELECT j.*, row_number() OVER (PARTITION BY j.lane ORDER BY j.ord)"
        f" + coalesce(taken.seats, 0) AS seat FROM {of.new_jobs} LEFT JOIN taken USING (lane))"
        f" INSERT INTO _bbops_jobs ({_COLUMNS}, seq, state, created_at)"
        " SELECT uid, work, payload, nullif(lane, ''), seats, priority, run_at, debounced, cause,"
        " depth, seq, CASE WHEN lane <> '' AND seat > seats THEN 'blocked'"
        " WHEN run_at > at THEN 'later' ELSE 'ready' END, at"
        " FROM found WHERE true ORDER BY ord"
        " ON CONFLICT (uid) DO UPDATE SET payload = excluded.payload, run_at = excluded.run_at,"
        " state = CASE WHEN _bbops_jobs.state = 'ready' AND excluded.run_at > excluded.created_at"
        " THEN 'later' ELSE _bbops_jobs.state END"
        " WHERE _bbops_jobs.debounced AND _bbops_jobs.state <> 'running'"
    )


def _tick(of: WorkDialect) -> str:
    """Return what makes the jobs of ticks: where they may not overlap, the task is their lane."""
    return (
        "INSERT INTO _bbops_jobs (uid, work, payload, lane, state, run_at, created_at)"
        " SELECT j.uid, j.task, '{}', CASE WHEN j.overlap <> 'allow' THEN j.task END,"
        " CASE WHEN j.overlap = 'queue' AND (j.ord > 0 OR coalesce(there.every, 0) > 0)"
        " THEN 'blocked' WHEN j.run_at > CAST(? AS bigint) THEN 'later' ELSE 'ready' END,"
        " j.run_at, CAST(? AS bigint)"
        f" FROM {of.new_ticks} JOIN _bbops_ticks ON _bbops_ticks.task = j.task"
        " LEFT JOIN (SELECT lane, count(*) AS every,"
        " sum(CASE WHEN state = 'blocked' THEN 1 ELSE 0 END) AS waiting FROM _bbops_jobs"
        " WHERE lane IN (SELECT task FROM _bbops_ticks) AND state <> 'dead' GROUP BY lane)"
        " AS there ON there.lane = j.task"
        " WHERE _bbops_ticks.next_at = j.at AND (j.overlap = 'allow' OR there.lane IS NULL"
        " OR (j.overlap = 'queue' AND there.waiting = 0))"
        " ORDER BY j.task, j.ord ON CONFLICT (uid) DO NOTHING"
    )


def _claim(of: WorkDialect, which: str, order: str) -> str:
    """Return what takes jobs; one that is debounced makes room for the next of its uid."""
    return (
        "UPDATE _bbops_jobs SET state = 'running', owner = ?, lease = ?, attempts = attempts + 1,"
        " fence = fence + 1, uid = CASE WHEN debounced THEN uid || '@' || id ELSE uid END,"
        " debounced = false WHERE id "
        + of.among.format(
            f"SELECT id FROM _bbops_jobs WHERE state = 'ready' AND {which}"
            f" ORDER BY {order} LIMIT ? {of.skips_locked}"
        )
        + " RETURNING id, uid, work, payload, attempts, fence, coalesce(lane, ''), code, seq,"
        " cause, depth, CASE WHEN run_at > created_at THEN run_at ELSE created_at END, created_at"
    )


NEVER_MS: Final = 1 << 52
"""The next tick of a task that is gone."""


def write_runs(tick: Tick, due: TickDue) -> list[dict[str, Any]]:
    """Return the jobs that a tick makes, as the queue takes them."""
    times = due.times[-1:] if due.overlap == "skip" else due.times
    return [
        {
            "task": tick.task, "at": tick.at, "uid": f"{tick.task}@{format_time(at)}",
            "overlap": due.overlap, "ord": number, "run_at": at + due.delay_ms,
        } for number, at in enumerate(times)
    ]  # fmt: skip


def write_next_tick(tick: Tick, due: TickDue) -> dict[str, Any]:
    """Return the next tick of a task."""
    return {"task": tick.task, "at": tick.at, "next_at": due.coming or NEVER_MS}


def write_missed(tick: Tick, due: TickDue) -> str:
    """Return what is said of a task that did not run: its first and last time, and how many."""
    first, last = format_time(due.missed[0]), format_time(due.missed[-1])
    told = {"task": tick.task, "first": first, "last": last, "count": len(due.missed)}
    return json.dumps(told)


BoundStatement = tuple[str, tuple[object, ...]]


def emit(name: str, payload: str, at: int, *, key: str = "", cause: Cause = Cause()) -> BoundStatement:  # noqa: B008 - frozen
    """Return the statement by which a transaction says that something happened."""
    return EMIT, (name, key, payload, at, cause.job, cause.depth)


def enqueue(job: NewJob, at: int) -> BoundStatement:
    """Return the statement by which a transaction wants a job to run."""
    return ENQUEUE, (job.uid, *_job_parameters(job, at))


def enqueue_if(job: NewJob, at: int, key: str) -> BoundStatement:
    """Return the statement that does so where a unique key is the job's."""
    return ENQUEUE_IF, (*_job_parameters(job, at), key, job.uid)


def _job_parameters(job: NewJob, at: int) -> tuple[object, ...]:
    return job.payload, at, job.cause.job, job.cause.depth, write_new_job(job)
