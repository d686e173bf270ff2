"""What a database says of a job that somebody else has: its record is refused, and all with it."""

from __future__ import annotations

from types import TracebackType

from bbops.runtime.values.failures import DatabaseFailure, Failure
from bbops.runtime.work.values import Claim, FencedError


class Fenced:
    """Says of a record that is refused in the block that somebody else has the job.

    A class, as each step of each job comes here: a generator costs several times as much.
    """

    __slots__ = ("_job",)

    def __init__(self, job: Claim) -> None:
        self._job = job

    def __enter__(self) -> None:
        """Nothing."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, Failure) and is_about_steps(error):
            raise FencedError(self._job.uid) from None


def is_about_steps(failure: Failure) -> bool:
    """Return whether the one table refused a row that is null where a job is wanted."""
    return isinstance(failure, DatabaseFailure) and failure.table == "_bbops_steps"
