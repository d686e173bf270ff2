"""The worker of a project: claim, run and retry jobs."""

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
from bbops.runtime.work.run_record import RunRecord
from bbops.runtime.work.values import (
    AsleepError,
    Claim,
    ProjectEvent,
    FencedError,
    HeldError,
    LaterError,
    NewJob,
    RetryPolicy,
    Route,
    Tick,
    TickDue,
)

MAX_JOBS_IN_PROCESS: Final = 100


class Seats:
    """A number of seats. A worker that gets too few waits: its event is set when some are free.

    While workers wait, each takes at most an equal part of the seats, the longest waiting first,
    so a project with a long queue keeps no other from its jobs.
    """

    def __init__(self, most: int = MAX_JOBS_IN_PROCESS) -> None:
        self._most = most
        self._taken = Counter[asyncio.Event]()
        self._waiting = dict[asyncio.Event, None]()
        """Workers in the order in which they wait."""

    def reserve(self, woken: asyncio.Event, wanted: int) -> int:
        """Take at most so many seats for a worker; return how many it has got.

        Args:
            woken: the worker's event, which names it.
            wanted: how many jobs it could begin.
        """
        room = self._most - self._taken.total()
        others = self._waiting.keys() - {woken}
        if others:
            busy = {worker for worker, count in self._taken.items() if count}
            share = max(1, self._most // len(busy | others | {woken}))
            ahead = takewhile(lambda worker: worker is not woken, self._waiting)
            room -= sum(self._taken[worker] < share for worker in [*ahead])
            room = min(room, share - self._taken[woken])
        got = max(0, min(wanted, room))
        self._taken[woken] += got
        if got:
            self._waiting.pop(woken, None)  # to the end of the queue, if it wants more
        if got < wanted:
            self._waiting.setdefault(woken)
        return got

    def free(self, woken: asyncio.Event, count: int) -> None:
        """Give seats of a worker back, and wake the other workers that wait for some."""
        self._taken[woken] -= count
        if count:
            self._wake_others(woken)

    def rest(self, woken: asyncio.Event) -> None:
        """Let a worker wait no more: it has no job to begin."""
        if woken in self._waiting:
            del self._waiting[woken]
            self._wake_others(woken)

    def leave(self, woken: asyncio.Event) -> None:
        """Forget a worker that has ended."""
        self.rest(woken)
        self.free(woken, self._taken[woken])
        del self._taken[woken]

    def _wake_others(self, woken: asyncio.Event) -> None:
        for worker in self._waiting.keys() - {woken}:
            worker.set()


@dataclass(frozen=True, slots=True)
class TickReport:
    """The time of a task has come.

    Attributes:
        task: its name, such as `tasks/nightly`.
        runs: how many runs were due; one that overlaps may still be left out.
        missed: how many were left out, because no server ran at their time.
    """

    task: str
    runs: int
    missed: int = 0


@dataclass(frozen=True, slots=True)
class EventReport:
    """An event has reached the log.

    Attributes:
        event: its name.
        jobs: what it starts, such as `triggers/order-paid`.
    """

    event: str
    jobs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AttemptStart:
    """An attempt of a job has begun.

    Attributes:
        waited_ms: since the job was made, or could run at the earliest.
    """

    job: Claim
    waited_ms: int = 0


WorkActivity: TypeAlias = TickReport | EventReport | AttemptStart


class RecordingRoute:
    """A route that remembers what each event starts, until the move of the events is committed."""

    def __init__(self, route: Route) -> None:
        self._route, self.noted = route, list[EventReport]()

    def __call__(self, event: ProjectEvent) -> list[NewJob]:
        """Return the jobs of an event."""
        jobs = list(self._route(event))
        self.noted.append(EventReport(event.name, tuple(one.work for one in jobs)))
        return jobs


class RecordingDue:
    """Says what ticks make, and remembers it until they are committed."""

    def __init__(self, due: Callable[[Tick, int], TickDue]) -> None:
        self._due, self.noted = due, list[TickReport]()

    def __call__(self, tick: Tick, now: int) -> TickDue:
        """Return what a tick makes."""
        due = self._due(tick, now)
        if due.times or due.missed:
            self.noted.append(TickReport(tick.task, len(due.times), len(due.missed)))
        return due


POLL_SECONDS: Final = 1.0
"""Between two looks where nobody says that something has happened."""

CRASHED: Final = "the process that ran it ended each time before it did"
"""Why a job is given up that takes its process along."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WorkPlan:
    """What a release says of its work.

    Attributes:
        route: which jobs an event makes.
        run: does a job; returns what is kept of what it returned, as JSON.
        due: says of a tick, and the time, what it makes.
        retry: how often work of a name is tried.
        arrange: gives a job that a step made its lane and priority.
    """

    route: Route
    run: Callable[[RunRecord], Awaitable[str | None]]
    due: Callable[[Tick, int], TickDue]
    retry: Callable[[str], RetryPolicy] = lambda _: RetryPolicy()
    arrange: Callable[[NewJob], NewJob] = lambda job: job


@dataclass(frozen=True, slots=True)
class Attempt:
    """How an attempt of a job went.

    Attributes:
        outcome: `done`, `waiting` in a step, `retrying` later, `dead`, `held`.
        error: the failure, None for one that is done.
        reason: why it failed or is held.
    """

    job: Claim
    outcome: Literal["done", "waiting", "retrying", "dead", "held"]
    seconds: float
    error: Exception | None = None
    reason: str = ""


async def run_attempt(
    engine: Engine, job: Claim, plan: WorkPlan, chance: Callable[[], float]
) -> Attempt:
    """Run a job that was claimed, and write how that went.

    Args:
        chance: gives a number from 0 to 1, for the pause before the next attempt.

    Raises:
        FencedError: somebody else has the job.
        LaterError: it is not to run yet.
    """
    began = perf_counter()
    if job.attempt > plan.retry(job.work).attempts:
        await write_outcome(lambda: engine.fail(job, CRASHED, None))
        return Attempt(job, "dead", perf_counter() - began, reason=CRASHED)
    try:
        outcome = await _run(engine, job, plan)
    except (FencedError, LaterError):
        raise
    except HeldError as held:
        reason = str(held)
        await write_outcome(lambda: engine.hold(job, reason))
        return Attempt(job, "held", perf_counter() - began, held, reason)
    except Exception as error:  # noqa: BLE001 - one job takes no other along
        reason = _reason(error)
        retry = RetryPolicy(attempts=1) if isinstance(error, PayloadFailure) else plan.retry(job.work)
        is_over = await _retry_or_fail(engine, job, retry, reason, chance())
        seconds = perf_counter() - began
        return Attempt(job, "dead" if is_over else "retrying", seconds, error, reason)
    return Attempt(job, outcome, perf_counter() - began)


async def _run(engine: Engine, job: Claim, plan: WorkPlan) -> Literal["done", "waiting"]:
    """Run a job until its end, or until it has to wait; return which."""
    known = await engine.steps(job) if job.attempt > 1 or job.fence > 1 else {}
    recorded = RunRecord(engine, job, known)
    try:
        result = await plan.run(recorded)
    except AsleepError as asleep:
        await recorded.sleep(asleep.waits)
        return "waiting"
    await engine.end(job, result=result)
    return "done"


async def _retry_or_fail(engine: Engine, job: Claim, retry: RetryPolicy, reason: str, chance: float) -> bool:
    """Try a job again, or give it up; return which."""
    pause = retry.pause_ms(job.attempt, chance)
    again_at = None if pause is None else engine.now() + pause
    await write_outcome(lambda: engine.fail(job, reason, again_at))
    return again_at is None


async def write_outcome(write: Callable[[], Awaitable[object]]) -> None:
    """Write how an attempt ended, as soon as the database takes it: until then nobody else runs."""
    while True:
        try:
            await write()
        except Failure as failure:
            _log.warning("the end of a job cannot be written yet: %s", failure.message)
            await asyncio.sleep(POLL_SECONDS)
        else:
            return


def _reason(error: Exception) -> str:
    """Return why an attempt failed, without any value of a mistake of ours."""
    if not isinstance(error, Failure):
        return f"unexpected {type(error).__name__}"
    message = error.message or f"it failed with status {error.status}"
    return f"{message} [{error.code}]" if isinstance(error, JobFailure) else message


MAX_CONCURRENT_JOBS: Final = 50
"""Jobs of one project that run in one process."""

MAX_BULK_JOBS: Final = 20
"""Jobs beside them of the priority BULK, which wait for others most of the time."""


def _ignore(attempt: Attempt) -> None:
    """Tell nobody."""


class Worker:
    """Runs jobs until it is cancelled; `woken` is set by whoever has committed something.

    Attributes:
        plan: of the release that is live. Jobs that run go on with the one they began with.
        may_begin: cleared while no job may begin.
        most: how many jobs run at a time.
    """

    def __init__(
        self, engine: Engine, plan: WorkPlan, chance: Callable[[], float], *,
        most: int = MAX_CONCURRENT_JOBS, tell: Callable[[Attempt], None] = _ignore,
        moved: Callable[[], None] = lambda: None,
        notice: Callable[[WorkActivity], None] = lambda _: None, seats: Seats | None = None,
    ) -> None:  # fmt: skip
        """Begin nothing yet.

        Args:
            tell: is called with each attempt that has ended.
            moved: is called once events were moved into the log.
            notice: is called with what else happens.
            seats: of the process, which its other workers share; its own if left out.
        """
        self.engine, self.plan, self._chance, self.most = engine, plan, chance, most
        self._tell, self._moved, self._notice = tell, moved, notice
        self._running: dict[int, asyncio.Task[None]] = {}
        self._bulk, self._seats = set[int](), seats or Seats()
        self._due: int | None = None
        self.woken, self.may_begin = asyncio.Event(), asyncio.Event()
        self.may_begin.set()

    @property
    def running(self) -> int:
        """How many jobs run now."""
        return len(self._running)

    async def run(self) -> None:
        """Work until cancelled; then what runs is cancelled, too, and another worker goes on."""
        loop = asyncio.get_running_loop()
        looked = -POLL_SECONDS
        try:
            while True:
                if not self.may_begin.is_set():
                    self._seats.rest(self.woken)
                await self.may_begin.wait()
                self.woken.clear()
                if not self._running and (idle := await self.engine.idle_until()) is not None:
                    self._due = idle
                    self._seats.rest(self.woken)
                    await self._wait()
                    continue
                if loop.time() - looked >= POLL_SECONDS:
                    looked = loop.time()
                    await self._look()
                if await self._turn():
                    await asyncio.sleep(0)
                else:
                    await self._wait()
        finally:
            for task in self._running.values():
                task.cancel()
            await asyncio.gather(*self._running.values(), return_exceptions=True)
            self._seats.leave(self.woken)

    async def _look(self) -> None:
        """Do what time and other workers ask for."""
        lost = await self.engine.reclaim()
        if lost:
            _log.warning("%d jobs go on: the process that ran them has ended", len(lost))
            if self.engine.holds:
                await self.engine.hold_waiting()
        await self.engine.renew()
        due = RecordingDue(self.plan.due)
        if await self.engine.tick(due):
            self._note(due.noted)

    def _note(self, happenings: Iterable[WorkActivity]) -> None:
        for one in happenings:
            self._notice(one)

    async def _turn(self) -> bool:
        """Move events and begin jobs; return whether there may be more at once."""
        route = RecordingRoute(self.plan.route)
        moved = await self.engine.pump(route, self.plan.arrange)
        if moved:
            self._moved()
            self._note(route.noted)
        self._due = None if self.engine.holds else await self.engine.wake_due()
        claimed = await self._claim()
        self._bulk |= {job.id for job in claimed if job.is_bulk}
        for job in claimed:
            self._notice(AttemptStart(job, self.engine.now() - job.due_at))
            task = asyncio.create_task(self._one(job))
            self._running[job.id] = task
            task.add_done_callback(partial(self._ended, job.id))
        return bool(moved or (claimed and len(self._running) < self.most))

    async def _claim(self) -> list[Claim]:
        """Claim as many jobs as this worker and its process have room for."""
        room = max(0, self.most - len(self._running) + len(self._bulk))
        seats, taken = self._seats.reserve(self.woken, room), 0
        try:
            claimed = await self.engine.claim(seats, bulk=MAX_BULK_JOBS - len(self._bulk))
            taken = sum(not job.is_bulk for job in claimed)
        finally:
            self._seats.free(self.woken, seats - taken)
            if taken < seats:
                self._seats.rest(self.woken)
        return claimed

    async def _wait(self) -> None:
        if self.engine.holds and not self._running:  # whoever asks for something wakes it
            await self.woken.wait()
            return
        seconds = POLL_SECONDS
        if self._due is not None:
            seconds = max(0.001, min(seconds, self.engine.seconds_until(self._due)))
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.woken.wait()

    def _ended(self, number: int, _task: asyncio.Task[None]) -> None:
        self._running.pop(number, None)
        if number not in self._bulk:
            self._seats.free(self.woken, 1)
        self._bulk.discard(number)
        self.woken.set()

    async def _one(self, job: Claim) -> None:
        plan = self.plan
        try:
            attempt = await run_attempt(self.engine, job, plan, self._chance)
        except FencedError:
            _log.info("job %s goes on elsewhere", job.uid)
        except LaterError as later:
            at = later.at
            await write_outcome(lambda: self.engine.sleep(job, at))
        except asyncio.CancelledError:  # the worker ends; that is no failed attempt
            with suppress(Exception):  # else it is found out that nobody runs it
                await self.engine.sleep(job, self.engine.now())
            raise
        else:
            if self.engine.holds and attempt.outcome in {"retrying", "waiting"}:
                await write_outcome(lambda: self.engine.hold_waiting(job))
            self._tell(attempt)
