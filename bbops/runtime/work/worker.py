"""The worker of a project: claim, run and retry jobs, within the seats of a process."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from time import perf_counter
from typing import Final, Literal, TypeAlias

from bbops.runtime.values.failures import Failure, JobFailure, PayloadFailure
from bbops.runtime.work.engine import Engine
from bbops.runtime.work.run_record import JobUsage, RunRecord
from bbops.runtime.work.values import (
    AsleepError,
    Claim,
    FencedError,
    HeldError,
    LaterError,
    NewJob,
    ProjectEvent,
    RetryPolicy,
    Route,
    Tick,
    TickDue,
)

MAX_JOBS_IN_PROCESS: Final = 100


class Seats:
    """The seats of a process, which its workers share.

    A worker that gets too few seats waits, and its event is set when seats are free. While workers
    wait, each gets at most an equal share, the longest waiting first. So a project with a long
    queue does not block other projects.
    """

    def __init__(self, limit: int = MAX_JOBS_IN_PROCESS) -> None:
        self._limit = limit
        self._taken = Counter[asyncio.Event]()
        self._waiting = dict[asyncio.Event, None]()
        """Waiting workers, longest waiting first."""

    def reserve(self, woken: asyncio.Event, count: int) -> int:
        """Reserve up to `count` seats for a worker; return the number of reserved seats.

        Args:
            woken: the worker's event, which identifies it.
            count: the number of jobs that the worker could begin.
        """
        room = self._limit - self._taken.total()
        others = self._waiting.keys() - {woken}
        if others:
            busy = {worker for worker, taken in self._taken.items() if taken}
            share = max(1, self._limit // len(busy | others | {woken}))
            ahead = takewhile(lambda worker: worker is not woken, self._waiting)
            room -= sum(self._taken[worker] < share for worker in [*ahead])
            room = min(room, share - self._taken[woken])
        reserved = max(0, min(count, room))
        self._taken[woken] += reserved
        if reserved:
            self._waiting.pop(woken, None)  # if it waits for more, it moves to the end
        if reserved < count:
            self._waiting.setdefault(woken)
        return reserved

    def free(self, woken: asyncio.Event, count: int) -> None:
        """Free seats of a worker, and wake the other waiting workers."""
        self._taken[woken] -= count
        if count:
            self._wake_others(woken)

    def stop_waiting(self, woken: asyncio.Event) -> None:
        """Remove a worker without ready jobs from the waiting workers."""
        if woken in self._waiting:
            del self._waiting[woken]
            self._wake_others(woken)

    def leave(self, woken: asyncio.Event) -> None:
        """Remove a worker that has ended, and free its seats."""
        self.stop_waiting(woken)
        self.free(woken, self._taken[woken])
        del self._taken[woken]

    def _wake_others(self, woken: asyncio.Event) -> None:
        for worker in self._waiting.keys() - {woken}:
            worker.set()


@dataclass(frozen=True, slots=True)
class TickReport:
    """A due task.

    Attributes:
        task: its name, such as `tasks/nightly`.
        runs: the number of due runs; `overlap` may still drop some.
        missed: the number of dropped runs, because no server ran at their time.
    """

    task: str
    runs: int
    missed: int = 0


@dataclass(frozen=True, slots=True)
class EventReport:
    """An event that was moved into the log.

    Attributes:
        event: its name.
        jobs: the work that it starts, such as `triggers/order-paid`.
    """

    event: str
    jobs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AttemptStart:
    """The start of an attempt.

    Attributes:
        waited_ms: the time since the job was due.
    """

    job: Claim
    waited_ms: int = 0


WorkActivity: TypeAlias = TickReport | EventReport | AttemptStart


class RecordingRoute:
    """A route that records an EventReport for each event, to publish after the commit."""

    def __init__(self, route: Route) -> None:
        self._route, self.reports = route, list[EventReport]()

    def __call__(self, event: ProjectEvent) -> list[NewJob]:
        """Return the jobs of an event."""
        jobs = list(self._route(event))
        self.reports.append(EventReport(event.name, tuple(job.work for job in jobs)))
        return jobs


class RecordingDue:
    """A function of due ticks that records a TickReport for each, to publish after the commit."""

    def __init__(self, due: Callable[[Tick, int], TickDue]) -> None:
        self._due, self.reports = due, list[TickReport]()

    def __call__(self, tick: Tick, now: int) -> TickDue:
        """Return the runs of a tick."""
        due = self._due(tick, now)
        if due.times or due.missed:
            self.reports.append(TickReport(tick.task, len(due.times), len(due.missed)))
        return due


POLL_SECONDS: Final = 1.0
"""The interval between two polls of the database without a wake-up."""

CRASHED: Final = "the process that ran it ended each time before it did"
"""The error of a job that has crashed its process in each attempt."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WorkPlan:
    """The functions of a release that route events, run jobs, and expand ticks.

    Attributes:
        route: returns the jobs of an event.
        run: runs a job; returns its result as JSON, None if the result is not stored.
        due: returns the runs of a tick at a time.
        retry: returns the retry policy of work.
        arrange: returns an enqueued job with its lane and priority.
    """

    route: Route
    run: Callable[[RunRecord], Awaitable[str | None]]
    due: Callable[[Tick, int], TickDue]
    retry: Callable[[str], RetryPolicy] = lambda _: RetryPolicy()
    arrange: Callable[[NewJob], NewJob] = lambda job: job


@dataclass(frozen=True, slots=True)
class Attempt:
    """The outcome of an attempt.

    Attributes:
        outcome: `done`, `waiting` in a step, `retrying` later, `dead`, `held`.
        error: the exception; None without a failure.
        reason: the reason of the failure or the hold.
        tokens: the tokens that models have read and written.
    """

    job: Claim
    outcome: Literal["done", "waiting", "retrying", "dead", "held"]
    seconds: float
    error: Exception | None = None
    reason: str = ""
    tokens: int = 0


async def run_attempt(
    engine: Engine, job: Claim, plan: WorkPlan, chance: Callable[[], float]
) -> Attempt:
    """Run an attempt of a claimed job, and write its outcome.

    Args:
        engine: the queue.
        job: the claim.
        plan: the plan of the release.
        chance: returns a random number from 0 to 1, for the pause before the next attempt.

    Raises:
        FencedError: another worker has claimed the job.
        LaterError: the job must not run yet.
    """
    began, usage = perf_counter(), JobUsage()
    if job.attempt > plan.retry(job.work).attempts:
        await write_outcome(lambda: engine.fail(job, CRASHED, None))
        return Attempt(job, "dead", perf_counter() - began, reason=CRASHED)
    try:
        outcome = await _run(engine, job, plan, usage)
    except (FencedError, LaterError):
        raise
    except HeldError as held:
        reason = str(held)
        await write_outcome(lambda: engine.hold(job, reason))
        return Attempt(job, "held", perf_counter() - began, held, reason, usage.tokens)
    except Exception as error:  # noqa: BLE001 - a failing job must not stop other jobs
        reason = _reason(error)
        retry = (
            RetryPolicy(attempts=1) if isinstance(error, PayloadFailure) else plan.retry(job.work)
        )
        is_dead = await _retry_or_fail(engine, job, retry, reason, chance())
        ending: Literal["dead", "retrying"] = "dead" if is_dead else "retrying"
        return Attempt(job, ending, perf_counter() - began, error, reason, usage.tokens)
    return Attempt(job, outcome, perf_counter() - began, tokens=usage.tokens)


async def _run(
    engine: Engine, job: Claim, plan: WorkPlan, usage: JobUsage
) -> Literal["done", "waiting"]:
    """Run a job until it ends or waits; return the outcome."""
    known = await engine.steps(job) if job.attempt > 1 or job.fence > 1 else {}
    record = RunRecord(engine, job, known, usage)
    try:
        result = await plan.run(record)
    except AsleepError as asleep:
        await record.sleep(asleep.waits)
        return "waiting"
    await engine.end(job, result=result)
    return "done"


async def _retry_or_fail(
    engine: Engine, job: Claim, retry: RetryPolicy, reason: str, chance: float
) -> bool:
    """Retry a job, or mark it dead after its last attempt; return whether it is dead."""
    pause = retry.pause_ms(job.attempt, chance)
    retry_at = None if pause is None else engine.now() + pause
    await write_outcome(lambda: engine.fail(job, reason, retry_at))
    return retry_at is None


async def write_outcome(write: Callable[[], Awaitable[object]]) -> None:
    """Write the outcome of an attempt, and retry until the database accepts it."""
    while True:
        try:
            await write()
        except Failure as failure:
            _log.warning("the end of a job cannot be written yet: %s", failure.message)
            await asyncio.sleep(POLL_SECONDS)
        else:
            return


def _reason(error: Exception) -> str:
    """Return the reason of a failure. Unexpected errors show only their type, not their values.

    Texts of other servers may have NUL characters, which PostgreSQL does not store.
    """
    if not isinstance(error, Failure):
        return f"unexpected {type(error).__name__}"
    message = (error.message or f"it failed with status {error.status}").replace("\0", "")
    return f"{message} [{error.code}]" if isinstance(error, JobFailure) else message


MAX_CONCURRENT_JOBS: Final = 50
"""The most concurrent jobs of a project in a process."""

MAX_BULK_JOBS: Final = 20
"""The most additional concurrent jobs of priority BULK, which mostly wait for servers."""


def _ignore(attempt: Attempt) -> None:
    """Do nothing with an attempt."""


class Worker:
    """Runs jobs until it is cancelled. Set `woken` after a commit of events or jobs.

    Attributes:
        plan: the plan of the live release. Running jobs continue with their own plan.
        may_begin: cleared while no job may begin.
        limit: the number of concurrent jobs.
    """

    def __init__(
        self, engine: Engine, plan: WorkPlan, chance: Callable[[], float], *,
        limit: int = MAX_CONCURRENT_JOBS, on_attempt: Callable[[Attempt], None] = _ignore,
        on_moved: Callable[[], None] = lambda: None,
        on_activity: Callable[[WorkActivity], None] = lambda _: None, seats: Seats | None = None,
    ) -> None:  # fmt: skip
        """Create a worker; `run` starts it.

        Args:
            engine: the queue.
            plan: the plan of the live release.
            chance: returns a random number from 0 to 1, for pauses between attempts.
            limit: the number of concurrent jobs.
            on_attempt: is called with each ended attempt.
            on_moved: is called when events were moved into the log.
            on_activity: is called with due tasks, logged events and started attempts.
            seats: the seats of the process; by default, the worker has its own.
        """
        self.engine, self.plan, self._chance, self.limit = engine, plan, chance, limit
        self._on_attempt, self._on_moved, self._on_activity = on_attempt, on_moved, on_activity
        self._running: dict[int, asyncio.Task[None]] = {}
        self._bulk, self._seats = set[int](), seats or Seats()
        self._due: int | None = None
        self.woken, self.may_begin = asyncio.Event(), asyncio.Event()
        self.may_begin.set()

    @property
    def running(self) -> int:
        """The number of running jobs."""
        return len(self._running)

    async def run(self) -> None:
        """Work until cancelled. Then running jobs are cancelled and requeued for other workers."""
        loop = asyncio.get_running_loop()
        polled_at = -POLL_SECONDS
        try:
            while True:
                if not self.may_begin.is_set():
                    self._seats.stop_waiting(self.woken)
                await self.may_begin.wait()
                self.woken.clear()
                if not self._running and (idle := await self.engine.idle_until()) is not None:
                    self._due = idle
                    self._seats.stop_waiting(self.woken)
                    await self._wait()
                    continue
                if loop.time() - polled_at >= POLL_SECONDS:
                    polled_at = loop.time()
                    await self._poll()
                if await self._work_once():
                    await asyncio.sleep(0)
                else:
                    await self._wait()
        finally:
            for task in self._running.values():
                task.cancel()
            await asyncio.gather(*self._running.values(), return_exceptions=True)
            self._seats.leave(self.woken)

    async def _poll(self) -> None:
        """Reclaim jobs of dead workers, renew leases, and create the jobs of due tasks."""
        lost = await self.engine.reclaim()
        if lost:
            _log.warning("%d jobs go on: the process that ran them has ended", len(lost))
            if self.engine.hold_reason:
                await self.engine.hold_waiting()
        await self.engine.renew()
        due = RecordingDue(self.plan.due)
        if await self.engine.tick(due):
            self._report(due.reports)

    def _report(self, activities: Iterable[WorkActivity]) -> None:
        for activity in activities:
            self._on_activity(activity)

    async def _work_once(self) -> bool:
        """Move events and begin jobs; return whether there may be more work now."""
        route = RecordingRoute(self.plan.route)
        moved = await self.engine.pump(route, self.plan.arrange)
        if moved:
            self._on_moved()
            self._report(route.reports)
        self._due = None if self.engine.hold_reason else await self.engine.wake_due()
        claimed = await self._claim()
        self._bulk |= {job.id for job in claimed if job.is_bulk}
        for job in claimed:
            self._on_activity(AttemptStart(job, self.engine.now() - job.due_at))
            task = asyncio.create_task(self._run_job(job))
            self._running[job.id] = task
            task.add_done_callback(partial(self._handle_end, job.id))
        return bool(moved or (claimed and len(self._running) < self.limit))

    async def _claim(self) -> list[Claim]:
        """Claim as many jobs as the worker and its process may run."""
        room = max(0, self.limit - len(self._running) + len(self._bulk))
        seats, taken = self._seats.reserve(self.woken, room), 0
        try:
            claimed = await self.engine.claim(seats, bulk=MAX_BULK_JOBS - len(self._bulk))
            taken = sum(not job.is_bulk for job in claimed)
        finally:
            self._seats.free(self.woken, seats - taken)
            if taken < seats:
                self._seats.stop_waiting(self.woken)
        return claimed

    async def _wait(self) -> None:
        if self.engine.hold_reason and not self._running:  # only a user's command starts jobs
            await self.woken.wait()
            return
        seconds = POLL_SECONDS
        if self._due is not None:
            seconds = max(0.001, min(seconds, self.engine.seconds_until(self._due)))
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.woken.wait()

    def _handle_end(self, job_id: int, _task: asyncio.Task[None]) -> None:
        self._running.pop(job_id, None)
        if job_id not in self._bulk:
            self._seats.free(self.woken, 1)
        self._bulk.discard(job_id)
        self.woken.set()

    async def _run_job(self, job: Claim) -> None:
        plan = self.plan
        try:
            attempt = await run_attempt(self.engine, job, plan, self._chance)
        except FencedError:
            _log.info("job %s goes on elsewhere", job.uid)
        except LaterError as later:
            at = later.at
            await write_outcome(lambda: self.engine.sleep(job, at))
        except asyncio.CancelledError:  # the worker ends; this does not use an attempt
            with suppress(Exception):  # another worker reclaims the job then
                await self.engine.sleep(job, self.engine.now())
            raise
        else:
            if self.engine.hold_reason and attempt.outcome in {"retrying", "waiting"}:
                await write_outcome(lambda: self.engine.hold_waiting(job))
            self._on_attempt(attempt)
