"""What a database says of a job that somebody else has: its record is refused, and all with it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from bbops.runtime.values.failures import DatabaseFailure, Failure
from bbops.runtime.work.values import Claim, FencedError


@contextmanager
def fenced(job: Claim) -> Iterator[None]:
    """Say of a record that was refused that somebody else has the job. Raises: FencedError."""
    try:
        yield
    except Failure as failure:
        if is_about_steps(failure):
            raise FencedError(job.uid) from None
        raise


def is_about_steps(failure: Failure) -> bool:
    """Return whether the one table refused a row that is null where a job is wanted."""
    return isinstance(failure, DatabaseFailure) and failure.table == "_bbops_steps"
