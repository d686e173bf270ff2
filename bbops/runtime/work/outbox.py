"""What a transaction writes into the outbox: that something happened, or that a job is wanted."""

from __future__ import annotations

from bbops.runtime.work.rows import write_new_job
from bbops.runtime.work.statements import EMIT, ENQUEUE, ENQUEUE_IF
from bbops.runtime.work.values import Cause, NewJob

Plain = tuple[str, tuple[object, ...]]


def emit(name: str, payload: str, at: int, *, key: str = "", cause: Cause = Cause()) -> Plain:  # noqa: B008 - frozen
    """Return the statement by which a transaction says that something happened."""
    return EMIT, (name, key, payload, at, cause.job, cause.depth)


def enqueue(job: NewJob, at: int) -> Plain:
    """Return the statement by which a transaction wants a job to run."""
    return ENQUEUE, (job.uid, *_of_new_job(job, at))


def enqueue_if(job: NewJob, at: int, key: str) -> Plain:
    """Return the statement that does so where a unique key is the job's."""
    return ENQUEUE_IF, (*_of_new_job(job, at), key, job.uid)


def _of_new_job(job: NewJob, at: int) -> tuple[object, ...]:
    return job.payload, at, job.cause.job, job.cause.depth, write_new_job(job)
