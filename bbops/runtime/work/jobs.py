"""Jobs of functions: enqueue, cancel, and read their status."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from bbops.base.host import Database
from bbops.runtime.work.control import NOT_BEGUN, UNIQUE, WorkControl
from bbops.runtime.work.statements import Statement, WorkDialect, enqueue, enqueue_if
from bbops.runtime.work.triggers import stored_key
from bbops.runtime.work.values import NewJob

JOB_PREFIX: Final = "functions/"
"""Prefix of the work and the uid of a job that runs a function."""

HAS_JOBS: Final = (
    "SELECT 1 WHERE EXISTS (SELECT 1 FROM _bbops_jobs WHERE state <> 'dead')"
    " OR EXISTS (SELECT 1 FROM _bbops_outbox)"
)
"""Query that returns a row if jobs are queued or running, or events are in the outbox."""

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
"""Locks the outbox row of a key's job until the transaction ends. Parameter: key."""
_STATUS: Final = (
    "SELECT state, attempts, error, NULL FROM _bbops_jobs WHERE uid = ?"
    " UNION ALL SELECT outcome, attempts, CASE outcome WHEN 'cancelled'"
    " THEN 'it was cancelled [jobCancelled]' ELSE '' END, value FROM _bbops_results WHERE uid = ?"
    " UNION ALL SELECT 'ready', 0, '', NULL FROM _bbops_outbox WHERE name = '' AND key = ?"
)


def is_of_function(uid: object) -> bool:
    """Return whether `uid` has the form that `enqueue` creates."""
    return isinstance(uid, str) and uid.startswith(JOB_PREFIX) and uid.isprintable()


async def enqueue_job(
    database: Database, dialect: WorkDialect, job: NewJob, at: int, *, unique: str | None = None
) -> str:
    """Enqueue a job in the transaction of a database, and return its uid.

    Args:
        unique: the job's key. If a job with the same work and key has not begun, its uid is
            returned and no job is created: that job begins after the transaction and sees its
            writes. If it has begun, it ends before the new job begins, unless the work has its
            own lanes. The key is locked until the transaction ends.
    """
    if unique is None:
        await database.write(*enqueue(job, at))
        return job.uid
    key = f"{job.work}/{stored_key(unique)}"
    job = replace(job, lane=UNIQUE + key)
    lock, share_lock = dialect.lanes_lock, dialect.share_lock
    statements: list[Statement] = [(lock, (json.dumps([UNIQUE + key]),))] if lock else []
    if share_lock:
        statements.append((_LOCK_OUTBOX_ROW.format(share_lock), (key,)))
    statements += [(_CLAIM_KEY.format(share_lock), (key, job.uid)), enqueue_if(job, at, key)]
    results = await database.write_all(statements)
    return str(results[-2][0][0])


async def cancel_job(
    database: Database, dialect: WorkDialect, uid: str, now: Callable[[], int]
) -> bool:  # fmt: skip
    """Cancel a job that has not ended; return whether it existed."""
    deleted = await database.write(
        "DELETE FROM _bbops_outbox WHERE name = '' AND key = ? RETURNING id", (uid,)
    )
    return bool(deleted) or await WorkControl(database, dialect, now=now).cancel(uid)


async def read_status(database: Database, uid: str) -> Mapping[str, Any] | None:
    """Return the fields of `jobStatus` for a job; None if the job does not exist. One read."""
    rows = await database.read(_STATUS, (uid, uid, uid))
    if not rows:
        return None
    state, attempts, error, value = rows[0]
    result = None if value is None else json.loads(value)
    return {"state": state, "attempts": attempts, "result": result, "error": error or None}
