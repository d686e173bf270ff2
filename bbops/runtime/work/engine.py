"""What a queue of jobs must do, whichever keeps it: `SqlEngine` does, on both databases.

`tests.support.engine_suite` holds an engine to all of it. Times are milliseconds since 1970.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any, Protocol

from bbops.base.host import Database
from bbops.runtime.work.fenced_writes import StepResults
from bbops.runtime.work.statements import WorkDialect, Statement
from bbops.runtime.work.values import Claim, NewJob, Route, Tick, TickDue, JobWait

Rows = list[tuple[Any, ...]]
AwaitedEvent = tuple[int, int, str]
"""An event of the log: its place, its time, its payload."""


def now_ms() -> int:
    """Return the time of the machine's clock in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


class Engine(Protocol):
    """The queue of one project, as one worker sees it. All methods may be called concurrently.

    Whoever has lost a job writes nothing any more: what a method would write for it is undone.

    Attributes:
        database: the project's, in which jobs change rows.
        dialect: how statements for it are written.
        owner: the worker's name, which no other worker ever has.
        names_cause: somebody listens to rows: what a job changes is told as caused by it.
        hears_dead: triggers that run when a job is dead.
        hears_missed: somebody listens to tasks that did not run.
        holds: why jobs do not begin by themselves; empty where they do. Then those that are made,
            and those whose time or turn comes, are held for it, but for runs of tasks, which
            somebody has asked for.
        keeps: columns of rows that topics show, by the names of events: the log has them a while.
    """

    database: Database
    dialect: WorkDialect
    owner: str
    hears_dead: frozenset[str]
    hears_missed: bool
    keeps: Mapping[str, Container[str]]

    @property
    def names_cause(self) -> bool:
        """See above."""
        ...

    @names_cause.setter
    def names_cause(self, wanted: bool) -> None: ...

    @property
    def holds(self) -> str:
        """See above."""
        ...

    @holds.setter
    def holds(self, reason: str) -> None: ...

    # ---- from the outbox into jobs
    async def pump(self, route: Route, arrange: Callable[[NewJob], NewJob] = ...) -> int:
        """Move committed events into the log and into jobs; return how many.

        In one transaction, so that each event makes each of its jobs exactly once. Where another
        pump was faster it does nothing.

        Args:
            route: says which jobs an event makes.
            arrange: gives a job that somebody made its lane and priority.
        """
        ...

    # ---- the life of a job
    async def claim(self, most: int, *, bulk: int = 0) -> list[Claim]:
        """Take at most so many jobs that are ready; and so many of the priority BULK.

        They are this worker's until they end, it dies, or nothing is heard of it for a minute.
        """
        ...

    async def steps(self, job: Claim) -> dict[str, Any]:
        """Return the results that a job has recorded, by the paths of their steps."""
        ...

    async def checkpoint(self, job: Claim, path: str, result: Any, *, also: StepResults = ()) -> None:
        """Record the result of a step that has been done.

        Args:
            job: as it was claimed.
            path: of the step in the function.
            result: what a later attempt takes in place of doing the step again.
            also: results that were drawn before, such as times.

        Raises:
            FencedError: somebody else has the job.
            FlowError: the result is too large.
        """
        ...

    async def change(
        self, job: Claim, path: str, effects: Sequence[Statement], *, also: StepResults = (),
        at_most: int | None = None,
    ) -> list[Rows]:  # fmt: skip
        """Change the project's tables, and record the rows that come back: both or none.

        Args:
            job: as it was claimed.
            path: of the step in the function.
            effects: the changes.
            also: results that were drawn before, such as times.
            at_most: rows that one of them may give.

        Returns:
            The rows of each effect.

        Raises:
            FencedError: somebody else has the job; nothing is written.
            FlowError: there are too many rows, or they are too large to be recorded.
            Failure: an effect was refused; nothing is written.
        """
        ...

    def as_cause(self, job: Claim) -> tuple[list[Statement], list[Statement]]:
        """Return what stands before and after a job's changes: that they are its own."""
        ...

    def record_of(self, job: Claim, path: str, result: Any) -> Statement:
        """Return the statement that records a result, for a transaction that somebody else has.

        Where the job is lost, the database refuses it, and with it the whole transaction.
        """
        ...

    async def end(self, job: Claim, outcome: str = "done", *, result: str | None = None) -> bool:
        """End a job and let the next one into its lane; return whether it was still ours.

        Args:
            result: what it returned, as JSON, for who asks for it; None where nobody may.
        """
        ...

    async def fail(self, job: Claim, error: str, again_at: int | None) -> bool:
        """Try a job again at a time, or give it up; return whether it was still ours."""
        ...

    async def sleep(self, job: Claim, until: int) -> bool:
        """Put a job away until a time, which is no failed attempt; its lane stays taken."""
        ...

    async def hold(self, job: Claim, reason: str) -> bool:
        """Put a job away until people decide; return whether it was still ours."""
        ...

    async def hold_waiting(self, job: Claim | None = None) -> None:
        """Hold a job that waits for a time or an event, or all that would begin by themselves."""
        ...

    # ---- events that a job waits for
    async def listen(self, job: Claim, events: Sequence[str]) -> Mapping[tuple[str, str], int]:
        """Say that a job may wait for events, so that none that comes from now on is missed.

        Returns:
            The event in the log up to which nothing matters to it, by event and path; the path is
            empty for where it began.
        """
        ...

    async def heard(self, event: str, since: int) -> list[AwaitedEvent]:
        """Return some events behind a place in the log, the oldest first."""
        ...

    async def wait(self, job: Claim, waits: Sequence[JobWait], *, also: StepResults = ()) -> bool:
        """Put a job away until what it waits for; return whether it was still ours.

        Raises:
            FencedError: somebody else has the job.
        """
        ...

    # ---- time
    async def idle_until(self) -> int | None:
        """Return until when there is nothing to do, None where there is something."""
        ...

    async def wake_due(self) -> int | None:
        """Make ready what has waited long enough; return when the next one is due."""
        ...

    async def set_ticks(self, ticks: Iterable[Tick]) -> None:
        """Say which tasks there are, and when they run next; an equal schedule keeps its time."""
        ...

    async def tick(self, due: Callable[[Tick, int], TickDue]) -> int:
        """Make the jobs of ticks that are due, and set the next ones; return how many tasks.

        A tick's job and the next tick are one transaction, and its name is unique: neither two
        servers nor a clock that is set back run it twice.

        Args:
            due: says of a tick, and the time, what it makes.
        """
        ...

    def now(self) -> int:
        """Return the time."""
        ...

    def seconds_until(self, at: int) -> float:
        """Return how long it is until a time; negative behind it."""
        ...

    # ---- when workers die
    async def renew(self) -> None:
        """Keep what this worker runs for longer; once in a while is enough."""
        ...

    async def reclaim(self) -> list[str]:
        """Make ready what dead workers ran; return the names of those jobs."""
        ...
