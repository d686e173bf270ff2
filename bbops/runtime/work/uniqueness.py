"""Leave out jobs of triggers whose key another one has had in the time that it is unique for."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from bbops.base.host import Database
from bbops.runtime.work.dialect import Dialect
from bbops.runtime.work.values import NewJob

Made = tuple[NewJob, int]
"""A job to be made, and its event's place in the log."""


async def read_keys(
    database: Database, dialect: Dialect, jobs: Sequence[Made]
) -> Mapping[str, int]:
    """Return until when the keys of jobs are taken."""
    keys = [job.unique for job, _ in jobs if job.unique]
    if not keys:
        return {}
    sql = f"SELECT key, until FROM _bbops_unique WHERE key IN ({dialect.texts})"
    return dict(await database.read(sql, (json.dumps(keys),)))


def choose_unique(
    jobs: Sequence[Made], taken: Mapping[str, int]
) -> tuple[list[Made], dict[str, int]]:
    """Return the jobs to make, and until when the keys are taken that they take.

    What counts is when the events were emitted, not when somebody looks at them.
    """
    found, until = list[Made](), dict[str, int]()
    for job, place in jobs:
        if job.unique:
            if until.get(job.unique, taken.get(job.unique, 0)) > job.created_at:
                continue
            until[job.unique] = job.created_at + job.unique_ms
        found.append((job, place))
    return found, until


def write_keys(until: Mapping[str, int]) -> str:
    """Return as JSON until when keys are taken."""
    return json.dumps([{"key": key, "until": at} for key, at in until.items()])
