"""The interface of a queue of jobs. `SqlEngine` implements it on both databases.

`tests.support.engine_suite` tests an implementation. Times are milliseconds since 1970.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any, Protocol

from bbops.base.host import Database
from bbops.runtime.work.fenced_writes import StepResults
from bbops.runtime.work.statements import Statement, WorkDialect
from bbops.runtime.work.values import Claim, JobWait, NewJob, Route, Tick, TickDue

Rows = list[tuple[Any, ...]]
AwaitedEvent = tuple[int, int, str]
"""An event's position in the log, time and payload."""


def now_ms() -> int:
    """Return the system time in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


class Engine(Protocol):
    """One worker's interface to the queue of a project. All methods may be called concurrently.

    When another worker has claimed a job, all writes for the earlier claim are rolled back.

    Attributes:
        database: the project's database, in which jobs change rows.
        dialect: the SQL dialect of the database.
        owner: the worker's name, which is never used again.
        dead_job_triggers: triggers that run when a job is dead.
        reports_missed: whether an event is emitted for the missed runs of a task.
        logged_columns: columns that topics publish, by event name. The log stores them.
    """

    database: Database
    dialect: WorkDialect
    owner: str
    dead_job_triggers: frozenset[str]
    reports_missed: bool
    logged_columns: Mapping[str, Container[str]]

    @property
    def records_cause(self) -> bool:
        """Whether row changes by a job name the job as their cause."""
        ...

    @records_cause.setter
    def records_cause(self, value: bool) -> None: ...

    @property
    def hold_reason(self) -> str:
        """The reason to hold jobs when they are created, due or next in their lane; may be empty.

        Runs of tasks are not held, since only users start them then.
        """
        ...

    @hold_reason.setter
    def hold_reason(self, reason: str) -> None: ...

    # ---- outbox
    async def pump(self, route: Route, arrange: Callable[[NewJob], NewJob] = ...) -> int:
        """Move committed outbox rows into the log and into jobs; return their number.

        This is one transaction, so that each event creates each of its jobs exactly once. If
        another worker has moved the rows meanwhile, nothing is written.

        Args:
            route: returns the jobs of an event.
            arrange: returns an enqueued job with its lane and priority.
        """
        ...

    # ---- jobs
    async def claim(self, limit: int, *, bulk: int = 0) -> list[Claim]:
        """Claim up to `limit` ready jobs, and up to `bulk` ready jobs of priority BULK.

        A claim is valid until the job ends, the worker dies, or its lease is not renewed for a
        minute.
        """
        ...

    async def steps(self, job: Claim) -> dict[str, Any]:
        """Return the recorded results of a job, by the paths of their steps."""
        ...

    async def checkpoint(
        self, job: Claim, path: str, result: Any, *, also: StepResults = ()
    ) -> None:
        """Record the result of a completed step.

        Args:
            job: the claim.
            path: the path of the step in the function.
            result: the result that later attempts use instead of running the step.
            also: earlier results that are not recorded yet, such as times.

        Raises:
            FencedError: another worker has claimed the job.
            FlowError: the result is too large.
        """
        ...

    async def change(
        self, job: Claim, path: str, effects: Sequence[Statement], *, also: StepResults = (),
        at_most: int | None = None,
    ) -> list[Rows]:  # fmt: skip
        """Change the project's tables and record the returned rows, in one transaction.

        Args:
            job: the claim.
            path: the path of the step in the function.
            effects: the statements that change the tables.
            also: earlier results that are not recorded yet, such as times.
            at_most: the limit of rows that each statement may return.

        Returns:
            The rows of each statement.

        Raises:
            FencedError: another worker has claimed the job; nothing is written.
            FlowError: there are too many rows, or they are too large to be recorded.
            Failure: the database rejected a statement; nothing is written.
        """
        ...

    def cause_statements(self, job: Claim) -> tuple[list[Statement], list[Statement]]:
        """Return the statements before and after a job's changes that name it as their cause."""
        ...

    def record_statement(self, job: Claim, path: str, result: Any) -> Statement:
        """Return the statement that records a result, for a transaction of the caller.

        If another worker has claimed the job, the database rejects it, and the whole transaction.
        """
        ...

    async def end(self, job: Claim, outcome: str = "done", *, result: str | None = None) -> bool:
        """End a job and admit the next job to its lane; return whether the claim was valid.

        Args:
            outcome: `done` or `cancelled`.
            result: the returned value as JSON, for `jobStatus`; None if it is not stored.
        """
        ...

    async def fail(self, job: Claim, error: str, retry_at: int | None) -> bool:
        """Retry a job at `retry_at`, or mark it dead; return whether the claim was valid."""
        ...

    async def sleep(self, job: Claim, until: int) -> bool:
        """Requeue a job until a time without using an attempt; return whether the claim was valid.

        The job keeps its seat in the lane.
        """
        ...

    async def hold(self, job: Claim, reason: str) -> bool:
        """Hold a job until a user decides; return whether the claim was valid."""
        ...

    async def hold_waiting(self, job: Claim | None = None) -> None:
        """Hold a job that is ready or waits; without one, hold all such jobs."""
        ...

    # ---- waits
    async def listen(self, job: Claim, events: Sequence[str]) -> Mapping[tuple[str, str], int]:
        """Register a job for events, so that it does not miss later ones.

        Returns:
            The position in the log after which the job reads events, by event and path. The path
            is empty for the start of the job.
        """
        ...

    async def events_after(self, event: str, since: int) -> list[AwaitedEvent]:
        """Return some events after a position in the log, oldest first."""
        ...

    async def wait(self, job: Claim, waits: Sequence[JobWait], *, also: StepResults = ()) -> bool:
        """Requeue a job until an event or a time; return whether the claim was valid.

        Raises:
            FencedError: another worker has claimed the job, so `also` cannot be recorded.
        """
        ...

    # ---- time
    async def idle_until(self) -> int | None:
        """Return the time until which there is no work, None if there is work now."""
        ...

    async def wake_due(self) -> int | None:
        """Make due jobs ready; return the time at which the next job is due."""
        ...

    async def set_ticks(self, ticks: Iterable[Tick]) -> None:
        """Set the tasks and their next times. A task with an unchanged schedule keeps its time."""
        ...

    async def tick(self, due: Callable[[Tick, int], TickDue]) -> int:
        """Create the jobs of due ticks and set the next ticks; return the number of tasks.

        A tick's job and the next tick are one transaction, and the job's uid is unique. So a tick
        does not run twice on two servers, or when a clock is set back.

        Args:
            due: returns the runs of a tick that are due at a time.
        """
        ...

    def now(self) -> int:
        """Return the time of the engine's clock."""
        ...

    def seconds_until(self, at: int) -> float:
        """Return the seconds until a time; negative if it has passed."""
        ...

    # ---- dead workers
    async def renew(self) -> None:
        """Renew the leases of this worker's jobs if they expire soon."""
        ...

    async def reclaim(self) -> list[str]:
        """Make the jobs of dead workers ready again; return their uids."""
        ...
