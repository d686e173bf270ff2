"""SQL statements of background work, by dialect."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Protocol

from bbops.base.host import Parameters
from bbops.runtime.work.rows import ROWS_PREFIX, write_new_job
from bbops.runtime.work.values import BULK, Cause, NewJob, Tick, TickDue, format_time


class WorkDialect(Protocol):
    """Parts of statements by database. Rows and lists are passed as one JSON parameter each."""

    batch_size: int
    """The most events that one `pump` moves, and the most jobs or ticks made ready at a time."""

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
    """A table `j` of four lists: job, fenced, path, result; empty without list parameters."""

    ids: str
    """A query of the numbers of a JSON text."""

    texts: str
    """A query of the texts of a JSON text."""

    in_query: str
    """A condition after a column, with `{}` for a query: the query returns the column's value."""

    skip_locked: str
    """The end of a query that skips rows locked by other transactions."""

    share_lock: str
    """The end of a query that locks a row against changes until the transaction ends."""

    jobs_lock: str
    """The end of a query of `_bbops_jobs` that locks its rows until the transaction ends."""

    pump_lock: str
    """A statement that locks the pump until the transaction ends; empty if not needed."""

    lanes_lock: str
    """A statement that locks the lanes of a JSON text; empty if not needed."""

    dead_owners: str
    """A condition: the worker `owner` is dead. Parameter: this worker's name."""

    set_cause: str
    """A statement that names the job that changes rows, for SQL triggers: job, depth."""

    clear_cause: str
    """A statement that clears this name; empty if the end of the transaction clears it."""

    snapshot_age_query: str
    """A query of the age in seconds of the oldest snapshot; empty if it cannot be read."""

    def __hash__(self) -> int:
        """Return a hash: `statements` is cached by dialect."""
        ...


EMIT: Final = (
    "INSERT INTO _bbops_outbox (name, key, payload, at, cause, depth) VALUES (?, ?, ?, ?, ?, ?)"
)
"""Inserts an event in the emitter's transaction: name, key, payload, at, cause, depth."""

ENQUEUE: Final = (
    "INSERT INTO _bbops_outbox (name, key, payload, at, cause, depth, job)"
    " VALUES ('', ?, ?, ?, ?, ?, ?)"
)
"""Inserts a job without an event: uid, payload, at, cause, depth, and the job's JSON."""

ENQUEUE_IF: Final = (
    "INSERT INTO _bbops_outbox (name, key, payload, at, cause, depth, job)"
    " SELECT '', uid, CAST(? AS text), CAST(? AS bigint), CAST(? AS text), CAST(? AS bigint),"
    " CAST(? AS text) FROM _bbops_keys WHERE key = ? AND uid = ?"
)
"""Inserts a job if it has claimed a key: payload, at, cause, depth, the job's JSON, key, uid."""

HOLD: Final = (
    "UPDATE _bbops_jobs SET state = 'held', error = CASE WHEN error = '' THEN CAST(? AS text)"
    " ELSE error END WHERE state IN ('ready', 'later')"
)
"""Holds ready and waiting jobs; a condition follows. Parameter: reason."""

IS_MADE: Final = "uid IN ({}) AND work NOT LIKE 'tasks/%' AND work NOT LIKE 'agents/%/schedule'"
"""Condition: new jobs except runs of tasks and of schedules of agents. Parameter: uids."""

IDLE: Final = (
    "SELECT EXISTS (SELECT 1 FROM _bbops_outbox)"
    " OR EXISTS (SELECT 1 FROM _bbops_jobs WHERE state = 'ready')"
    " OR EXISTS (SELECT 1 FROM _bbops_jobs WHERE state = 'running' AND owner <> ?),"
    " (SELECT min(run_at) FROM _bbops_jobs WHERE state = 'later'),"
    " (SELECT min(next_at) FROM _bbops_ticks)"
)
"""Query: whether there is work, and the next times. Parameter: the worker's name."""

SEAT_STATES: Final = "('ready', 'running', 'later', 'held')"
"""States of jobs that have a seat in their lane."""

KEPT_PAYLOAD: Final = f"CASE WHEN payload LIKE '{ROWS_PREFIX}%' THEN '{{}}' ELSE payload END"
"""The payload of an ended job, without rows."""

AWAITED: Final = "(SELECT count(*) FROM (SELECT 1 FROM _bbops_awaited LIMIT 1) AS one)"
"""1 if a job waits for an event, else 0."""

NEWEST: Final = f"SELECT (SELECT coalesce(max(seq), 0) FROM _bbops_events), {AWAITED}"
"""Query: the newest position in the log, and whether a job waits for an event."""

IS_WAITING: Final = (
    "EXISTS (SELECT 1 FROM _bbops_awaited AS own WHERE own.job = _bbops_jobs.id"
    " AND own.until = _bbops_jobs.run_at)"
)
"""Condition: a job waits for an event, not for another attempt."""

SIZES: Final = "SELECT id, length(payload) FROM _bbops_outbox ORDER BY id LIMIT ?"
"""Query: the sizes of the payloads in the outbox. Parameter: limit."""

OUTBOX: Final = (
    "SELECT id, name, key, payload, at, cause, depth, job FROM _bbops_outbox"
    " WHERE id <= ? ORDER BY id LIMIT ?"
)
"""Query: the rows of the outbox up to an id. Parameters: id, limit."""

READY: Final = (
    f"SELECT EXISTS (SELECT 1 FROM _bbops_jobs WHERE state = 'ready' AND priority < {BULK}),"
    f" EXISTS (SELECT 1 FROM _bbops_jobs WHERE state = 'ready' AND priority = {BULK})"
)
"""Query: whether jobs are ready, and whether jobs of priority BULK are."""

_COLUMNS: Final = "uid, work, payload, lane, seats, priority, run_at, debounced, cause, depth"
_OWN_JOB: Final = "id = ? AND owner = ? AND fence = ?"


Statement = tuple[str, Parameters]


@dataclass(frozen=True, slots=True)
class Statements:
    """The statements of a dialect. Each docstring lists the parameters in order."""

    check_unchanged: str
    """Fails if the read rows changed: ids, count, newest seq, whether jobs wait for events."""

    log_events: str
    """Appends events to the log: newest seq, rows."""

    insert_jobs: str
    """Inserts jobs: lanes, rows."""

    save_keys: str
    """Saves the times until which keys are taken: rows."""

    clear_outbox: str
    """Deletes rows of the outbox: ids."""

    claim: str
    """Claims jobs by priority: owner, lease, limit."""

    claim_oldest: str
    """Claims jobs by age: owner, lease, limit."""

    claim_bulk: str
    """Claims jobs of priority BULK: owner, lease, limit."""

    record: str
    """Records a step if the claim is valid, else fails: id, owner, fence, path, result."""

    record_all: str
    """Records several steps: owner, ids, fences, paths, results. Empty if not supported."""

    log_ends: str
    """Writes ending jobs to the job log: at, rows of `new_ends`, owner."""

    save_results: str
    """Saves the results of ending jobs: at, rows, owner."""

    delete_steps: str
    """Deletes the steps of ending jobs: rows, owner."""

    delete_jobs: str
    """Deletes ending jobs: rows, owner."""

    open_lanes: str
    """Admits the next job to each lane: now, lanes."""

    requeue: str
    """Requeues a job: run_at, error, 1 to return the attempt or 0, id, owner, fence."""

    hold: str
    """Holds a job: reason, now, id, owner, fence."""

    report_dead: str
    """Emits the event of a dead job: event, payload, at, id, owner, fence."""

    mark_dead: str
    """Marks a job as dead: error, id, owner, fence."""

    wake_due: str
    """Makes due jobs ready: now, limit."""

    start_listening: str
    """Saves the position from which a job reads an event: event, id, owner, fence."""

    clear_waits: str
    """Deletes the earlier waits of a job: id, owner, fence."""

    save_wait: str
    """Saves a wait of a job: path, event, value, since, until, id, owner, fence."""

    sleep: str
    """Requeues a job until its wait is over or an event is in the log: until, until, id, owner,
    fence."""

    wake_waiting: str
    """Makes jobs ready that wait for events: rows of `new_wakes`."""

    delete_ticks: str
    """Deletes the ticks of removed tasks: names of the other tasks."""

    set_ticks: str
    """Sets the first ticks of new tasks and of changed schedules: rows."""

    insert_runs: str
    """Inserts the jobs of due ticks: now, now, rows."""

    report_missed: str
    """Emits the event of a missed task: event, task, payload, at, task, its tick."""

    advance_ticks: str
    """Sets the next ticks: rows."""

    reclaim: str
    """Makes the jobs of dead workers ready: this worker's name."""


@cache
def statements(dialect: WorkDialect) -> Statements:
    """Return the statements of a dialect."""
    ending = _ending_jobs(dialect)
    return Statements(
        check_unchanged=(
            "INSERT INTO _bbops_steps (job, path, result) SELECT NULL, '', NULL WHERE"
            f" (SELECT count(*) FROM _bbops_outbox WHERE id IN ({dialect.ids})) <> ?"
            " OR (SELECT coalesce(max(seq), 0) FROM _bbops_events) <> ?"
            f" OR {AWAITED} <> CAST(? AS bigint)"
        ),
        log_events=(
            "INSERT INTO _bbops_events (seq, name, key, payload, at, cause, depth)"
            " SELECT CAST(? AS bigint) + ord, name, key, payload, at, cause, depth"
            f" FROM {dialect.new_events} ORDER BY ord"
        ),
        insert_jobs=_insert_jobs(dialect),
        save_keys=(
            f"INSERT INTO _bbops_unique (key, until) SELECT key, until FROM {dialect.new_keys}"
            " WHERE true ON CONFLICT (key) DO UPDATE SET until = excluded.until"
        ),
        clear_outbox=f"DELETE FROM _bbops_outbox WHERE id IN ({dialect.ids})",
        claim=_claim(dialect, f"priority < {BULK}", "priority, id"),
        claim_oldest=_claim(dialect, f"priority < {BULK}", "id"),
        claim_bulk=_claim(dialect, f"priority = {BULK}", "id"),
        record=(
            "INSERT INTO _bbops_steps (job, path, result) VALUES"
            f" ((SELECT id FROM _bbops_jobs WHERE {_OWN_JOB} {dialect.share_lock}), ?, ?)"
        ),
        record_all=_record_all(dialect),
        log_ends=(
            "INSERT INTO _bbops_job_log (id, uid, work, payload, outcome, attempts, error, seq,"
            f" cause, depth, created_at, ended_at) SELECT id, uid, work, {KEPT_PAYLOAD}, outcome,"
            f" attempts, error, seq, cause, depth, created_at, CAST(? AS bigint) FROM {ending}"
            f" {dialect.jobs_lock}"
        ),
        save_results=(
            "INSERT INTO _bbops_results (uid, outcome, attempts, value, ended_at) SELECT uid,"
            f" 'done', attempts, value, CAST(? AS bigint) FROM {ending}"
            " AND value IS NOT NULL ON CONFLICT (uid) DO NOTHING"
        ),
        delete_steps=f"DELETE FROM _bbops_steps WHERE job IN (SELECT id FROM {ending})",
        delete_jobs=f"DELETE FROM _bbops_jobs WHERE id IN (SELECT id FROM {ending}) RETURNING id",
        open_lanes=(
            "UPDATE _bbops_jobs SET state = CASE WHEN run_at > CAST(? AS bigint) THEN 'later'"
            " ELSE 'ready' END WHERE id IN (SELECT (SELECT id FROM _bbops_jobs AS waiting"
            " WHERE lane = ended.value AND state = 'blocked' AND (SELECT count(*)"
            " FROM _bbops_jobs AS seat WHERE seat.lane = ended.value"
            f" AND seat.state IN {SEAT_STATES}) < waiting.seats ORDER BY id LIMIT 1)"
            f" FROM ({dialect.texts}) AS ended)"
        ),
        requeue=(
            "UPDATE _bbops_jobs SET state = 'later', run_at = ?, error = ?, owner = NULL,"
            f" attempts = attempts - CAST(? AS integer) WHERE {_OWN_JOB} RETURNING id"
        ),
        hold=(
            "UPDATE _bbops_jobs SET state = 'held', error = ?, lease = ?, owner = NULL"
            f" WHERE {_OWN_JOB} RETURNING id"
        ),
        report_dead=(
            "INSERT INTO _bbops_outbox (name, key, payload, at, cause, depth) SELECT"
            " CAST(? AS text), uid, CAST(? AS text), CAST(? AS bigint), uid, depth + 1"
            f" FROM _bbops_jobs WHERE {_OWN_JOB}"
        ),
        mark_dead=(
            "UPDATE _bbops_jobs SET state = 'dead', error = ?, owner = NULL"
            f" WHERE {_OWN_JOB} RETURNING id"
        ),
        wake_due=(
            "UPDATE _bbops_jobs SET state = 'ready' WHERE id "
            + dialect.in_query.format(
                "SELECT id FROM _bbops_jobs WHERE state = 'later' AND run_at <= ?"
                f" ORDER BY run_at LIMIT ? {dialect.skip_locked}"
            )
        ),
        start_listening=(
            "INSERT INTO _bbops_awaited (job, path, event, value, since, until) SELECT id, '',"
            " CAST(? AS text), '', (SELECT coalesce(max(seq), 0) FROM _bbops_events), 0"
            f" FROM _bbops_jobs WHERE {_OWN_JOB} ON CONFLICT (job, path, event) DO NOTHING"
        ),
        clear_waits=(
            "DELETE FROM _bbops_awaited WHERE path <> ''"
            f" AND job IN (SELECT id FROM _bbops_jobs WHERE {_OWN_JOB})"
        ),
        save_wait=(
            "INSERT INTO _bbops_awaited (job, path, event, value, since, until) SELECT id,"
            " CAST(? AS text), CAST(? AS text), CAST(? AS text), CAST(? AS bigint),"
            f" CAST(? AS bigint) FROM _bbops_jobs WHERE {_OWN_JOB}"
        ),
        sleep=(
            "UPDATE _bbops_jobs SET state = CASE WHEN EXISTS (SELECT 1 FROM _bbops_awaited AS w"
            " JOIN _bbops_events AS e ON e.name = w.event AND e.seq > w.since"
            " WHERE w.job = _bbops_jobs.id AND w.until = CAST(? AS bigint)) THEN 'ready'"
            " ELSE 'later' END, run_at = CAST(? AS bigint), error = '', owner = NULL,"
            f" attempts = attempts - 1 WHERE {_OWN_JOB} RETURNING id"
        ),
        wake_waiting=(
            "UPDATE _bbops_jobs SET state = 'ready' WHERE state = 'later' AND id IN (SELECT w.job"
            f" FROM {dialect.new_wakes} JOIN _bbops_awaited AS w ON w.event = j.event"
            f" AND w.value = j.value AND w.path <> '') AND {IS_WAITING}"
        ),
        delete_ticks=f"DELETE FROM _bbops_ticks WHERE task NOT IN ({dialect.texts})",
        set_ticks=(
            "INSERT INTO _bbops_ticks (task, next_at, schedule)"
            f" SELECT task, next_at, schedule FROM {dialect.new_ticks} WHERE true"
            " ON CONFLICT (task) DO UPDATE SET next_at = excluded.next_at,"
            " schedule = excluded.schedule WHERE _bbops_ticks.schedule <> excluded.schedule"
        ),
        insert_runs=_insert_runs(dialect),
        report_missed=(
            "INSERT INTO _bbops_outbox (name, key, payload, at, cause, depth) SELECT"
            " CAST(? AS text), CAST(? AS text), CAST(? AS text), CAST(? AS bigint), '', 0"
            " FROM _bbops_ticks WHERE task = ? AND next_at = ?"
        ),
        advance_ticks=(
            f"UPDATE _bbops_ticks SET next_at = j.next_at FROM {dialect.new_ticks}"
            " WHERE _bbops_ticks.task = j.task AND _bbops_ticks.next_at = j.at"
        ),
        reclaim=(
            "UPDATE _bbops_jobs SET state = 'ready', owner = NULL WHERE state = 'running'"
            f" AND {dialect.dead_owners} RETURNING uid"
        ),
    )


def _ending_jobs(dialect: WorkDialect) -> str:
    """Return the source of ending jobs whose claim is valid: rows, owner."""
    return (
        f"_bbops_jobs JOIN {dialect.new_ends} ON j.job = _bbops_jobs.id"
        " AND j.fenced = _bbops_jobs.fence WHERE owner = ?"
    )


def _record_all(dialect: WorkDialect) -> str:
    """Return the statement that records several steps. It fails if one claim is not valid."""
    if not dialect.new_records:
        return ""
    return (
        "INSERT INTO _bbops_steps (job, path, result) SELECT (SELECT id FROM _bbops_jobs"
        f" WHERE id = j.job AND owner = ? AND fence = j.fenced {dialect.share_lock}), j.path,"
        f" j.result FROM {dialect.new_records}"
    )


def _insert_jobs(dialect: WorkDialect) -> str:
    """Return the statement that inserts jobs: each takes a free seat of its lane, or is blocked."""
    return (
        "WITH taken AS (SELECT lane, count(*) AS seats FROM _bbops_jobs"
        f" WHERE lane IN ({dialect.texts}) AND state <> 'dead' GROUP BY lane),"
        f" found AS (SELECT j.*, row_number() OVER (PARTITION BY j.lane ORDER BY j.ord)"
        f" + coalesce(taken.seats, 0) AS seat FROM {dialect.new_jobs} LEFT JOIN taken USING (lane))"
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


def _insert_runs(dialect: WorkDialect) -> str:
    """Return the statement that inserts runs of tasks. Without overlap, the task is their lane."""
    return (
        "INSERT INTO _bbops_jobs (uid, work, payload, lane, state, run_at, created_at)"
        " SELECT j.uid, j.task, '{}', CASE WHEN j.overlap <> 'allow' THEN j.task END,"
        " CASE WHEN j.overlap = 'queue' AND (j.ord > 0 OR coalesce(there.every, 0) > 0)"
        " THEN 'blocked' WHEN j.run_at > CAST(? AS bigint) THEN 'later' ELSE 'ready' END,"
        " j.run_at, CAST(? AS bigint)"
        f" FROM {dialect.new_ticks} JOIN _bbops_ticks ON _bbops_ticks.task = j.task"
        " LEFT JOIN (SELECT lane, count(*) AS every,"
        " sum(CASE WHEN state = 'blocked' THEN 1 ELSE 0 END) AS waiting FROM _bbops_jobs"
        " WHERE lane IN (SELECT task FROM _bbops_ticks) AND state <> 'dead' GROUP BY lane)"
        " AS there ON there.lane = j.task"
        " WHERE _bbops_ticks.next_at = j.at AND (j.overlap = 'allow' OR there.lane IS NULL"
        " OR (j.overlap = 'queue' AND there.waiting = 0))"
        " ORDER BY j.task, j.ord ON CONFLICT (uid) DO NOTHING"
    )


def _claim(dialect: WorkDialect, which: str, order: str) -> str:
    """Return the statement that claims jobs. A debounced job frees its uid for the next job."""
    return (
        "UPDATE _bbops_jobs SET state = 'running', owner = ?, lease = ?, attempts = attempts + 1,"
        " fence = fence + 1, uid = CASE WHEN debounced THEN uid || '@' || id ELSE uid END,"
        " debounced = false WHERE id "
        + dialect.in_query.format(
            f"SELECT id FROM _bbops_jobs WHERE state = 'ready' AND {which}"
            f" ORDER BY {order} LIMIT ? {dialect.skip_locked}"
        )
        + " RETURNING id, uid, work, payload, attempts, fence, coalesce(lane, ''), code, seq,"
        " cause, depth, CASE WHEN run_at > created_at THEN run_at ELSE created_at END, created_at"
    )


NEVER_MS: Final = 1 << 52
"""The next tick of a removed task."""


def write_runs(tick: Tick, due: TickDue) -> list[dict[str, Any]]:
    """Return the jobs of a tick as rows for the queue."""
    times = due.times[-1:] if due.overlap == "skip" else due.times
    return [
        {
            "task": tick.task, "at": tick.at, "uid": f"{tick.task}@{format_time(at)}",
            "overlap": due.overlap, "ord": number, "run_at": at + due.delay_ms,
        } for number, at in enumerate(times)
    ]  # fmt: skip


def write_next_tick(tick: Tick, due: TickDue) -> dict[str, Any]:
    """Return the next tick of a task as a row."""
    return {"task": tick.task, "at": tick.at, "next_at": due.coming or NEVER_MS}


def write_missed(tick: Tick, due: TickDue) -> str:
    """Return the payload of `bbops.task-missed`: the first and last missed time, and the count."""
    first, last = format_time(due.missed[0]), format_time(due.missed[-1])
    return json.dumps({"task": tick.task, "first": first, "last": last, "count": len(due.missed)})


BoundStatement = tuple[str, tuple[object, ...]]


def emit(
    name: str,
    payload: str,
    at: int,
    *,
    key: str = "",
    cause: Cause = Cause(),  # noqa: B008 - frozen
) -> BoundStatement:
    """Return the statement that inserts an event into the outbox."""
    return EMIT, (name, key, payload, at, cause.job, cause.depth)


def enqueue(job: NewJob, at: int) -> BoundStatement:
    """Return the statement that inserts a job into the outbox."""
    return ENQUEUE, (job.uid, *_job_parameters(job, at))


def enqueue_if(job: NewJob, at: int, key: str) -> BoundStatement:
    """Return the statement that inserts a job into the outbox if the job has claimed its key."""
    return ENQUEUE_IF, (*_job_parameters(job, at), key, job.uid)


def _job_parameters(job: NewJob, at: int) -> tuple[object, ...]:
    return job.payload, at, job.cause.job, job.cause.depth, write_new_job(job)
