"""Jobs that a step makes of a function: how they are made, ended, and what is known of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from bbops.base.host import Database
from bbops.runtime.work.control import NOT_BEGUN, UNIQUE, WorkControl
from bbops.runtime.work.statements import WorkDialect, Statement, enqueue, enqueue_if
from bbops.runtime.work.triggers import stored_key
from bbops.runtime.work.values import NewJob

JOB_PREFIX: Final = "functions/"
"""Begins the work of such a job, and its name."""

_CLAIM_KEY: Final = (
    "INSERT INTO _bbops_keys (key, uid) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET uid ="
    " CASE WHEN EXISTS (SELECT 1 FROM _bbops_jobs AS j WHERE j.uid = _bbops_keys.uid"
    f" AND {NOT_BEGUN} {{}}) OR EXISTS (SELECT 1 FROM _bbops_outbox AS o WHERE o.name = ''"
    " AND o.key = _bbops_keys.uid) THEN _bbops_keys.uid ELSE excluded.uid END RETURNING uid"
)
_LOCK_OUTBOX_ROW: Final = (
    "SELECT 1 FROM _bbops_outbox WHERE name = ''"
    " AND key = (SELECT uid FROM _bbops_keys WHERE key = ?) {}"
)
"""Keeps the job of a key in the outbox until the transaction ends: key."""
_STATUS: Final = (
    "SELECT state, attempts, error, NULL FROM _bbops_jobs WHERE uid = ?"
    " UNION ALL SELECT outcome, attempts, CASE outcome WHEN 'cancelled'"
    " THEN 'it was cancelled [jobCancelled]' ELSE '' END, value FROM _bbops_results WHERE uid = ?"
    " UNION ALL SELECT 'ready', 0, '', NULL FROM _bbops_outbox WHERE name = '' AND key = ?"
)


def is_of_function(uid: object) -> bool:
    """Return whether a job's name is one that `enqueue` gives."""
    return isinstance(uid, str) and uid.startswith(JOB_PREFIX) and uid.isprintable()


async def enqueue_job(
    database: Database, dialect: WorkDialect, job: NewJob, at: int, *, unique: str | None = None
) -> str:
    """Make a job in the transaction of a database; return the name that it has.

    Args:
        unique: the key of the job. While another job of the same work and key has not begun, no
            job is made: the other one begins after the transaction and sees its writes. A job that
            has begun ends before the new one begins, unless the work has lanes of its own. The key
            is locked until the transaction ends.
    """
    if unique is None:
        await database.write(*enqueue(job, at))
        return job.uid
    key = f"{job.work}/{stored_key(unique)}"
    job = replace(job, lane=UNIQUE + key)
    lock, shares = dialect.locks_lanes, dialect.shares
    statements: list[Statement] = [(lock, (json.dumps([UNIQUE + key]),))] if lock else []
    if shares:
        statements.append((_LOCK_OUTBOX_ROW.format(shares), (key,)))
    statements += [(_CLAIM_KEY.format(shares), (key, job.uid)), enqueue_if(job, at, key)]
    done = await database.write_all(statements)
    return str(done[-2][0][0])


async def cancel_job(
    database: Database, dialect: WorkDialect, uid: str, now: Callable[[], int]
) -> bool:  # fmt: skip
    """End a job that has not ended; return whether there was one."""
    gone = await database.write(
        "DELETE FROM _bbops_outbox WHERE name = '' AND key = ? RETURNING id", (uid,)
    )
    return bool(gone) or await WorkControl(database, dialect, now=now).cancel(uid)


async def read_status(database: Database, uid: str) -> Mapping[str, Any] | None:
    """Return what a function may know of a job; None where there is none. One read."""
    rows = await database.read(_STATUS, (uid, uid, uid))
    if not rows:
        return None
    state, attempts, error, value = rows[0]
    result = None if value is None else json.loads(value)
    return {"state": state, "attempts": attempts, "result": result, "error": error or None}


HAS_JOBS: Final = (
    "SELECT 1 WHERE EXISTS (SELECT 1 FROM _bbops_jobs WHERE state <> 'dead')"
    " OR EXISTS (SELECT 1 FROM _bbops_outbox)"
)
"""Gives a row where there are jobs that have not ended, or events that make some."""
