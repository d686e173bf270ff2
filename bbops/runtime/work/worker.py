"""Run the jobs of one project: claim, run, try again, and look for what is due."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Final

from bbops.runtime.work.attempts import LOOK_SECONDS, Attempt, Plan, run_attempt, written
from bbops.runtime.work.engine import Engine
from bbops.runtime.work.happenings import Happening, NotedDue, NotedRoute, Started
from bbops.runtime.work.seats import Seats
from bbops.runtime.work.values import Claim, FencedError, LaterError

MOST_AT_A_TIME: Final = 50
"""Jobs of one project that run in one process."""

MOST_BULK: Final = 20
"""Jobs beside them of the priority BULK, which wait for others most of the time."""

_log = logging.getLogger(__name__)


def _untold(attempt: Attempt) -> None:
    """Tell nobody."""


class Worker:
    """Runs jobs until it is cancelled; `woken` is set by whoever has committed something.

    Attributes:
        plan: of the release that is live. Jobs that run go on with the one they began with.
        may_begin: cleared while no job may begin.
        most: how many jobs run at a time.
    """

    def __init__(
        self, engine: Engine, plan: Plan, chance: Callable[[], float], *,
        most: int = MOST_AT_A_TIME, tell: Callable[[Attempt], None] = _untold,
        moved: Callable[[], None] = lambda: None,
        notice: Callable[[Happening], None] = lambda _: None, seats: Seats | None = None,
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
        looked = -LOOK_SECONDS
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
                if loop.time() - looked >= LOOK_SECONDS:
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
        due = NotedDue(self.plan.due)
        if await self.engine.tick(due):
            self._note(due.noted)

    def _note(self, happenings: Iterable[Happening]) -> None:
        for one in happenings:
            self._notice(one)

    async def _turn(self) -> bool:
        """Move events and begin jobs; return whether there may be more at once."""
        route = NotedRoute(self.plan.route)
        moved = await self.engine.pump(route, self.plan.arrange)
        if moved:
            self._moved()
            self._note(route.noted)
        self._due = None if self.engine.holds else await self.engine.wake_due()
        claimed = await self._claim()
        self._bulk |= {job.id for job in claimed if job.is_bulk}
        for job in claimed:
            self._notice(Started(job, self.engine.now() - job.due_at))
            task = asyncio.create_task(self._one(job))
            self._running[job.id] = task
            task.add_done_callback(partial(self._ended, job.id))
        return bool(moved or (claimed and len(self._running) < self.most))

    async def _claim(self) -> list[Claim]:
        """Claim as many jobs as this worker and its process have room for."""
        room = max(0, self.most - len(self._running) + len(self._bulk))
        seats, taken = self._seats.reserve(self.woken, room), 0
        try:
            claimed = await self.engine.claim(seats, bulk=MOST_BULK - len(self._bulk))
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
        seconds = LOOK_SECONDS
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
            await written(lambda: self.engine.sleep(job, at))
        except asyncio.CancelledError:  # the worker ends; that is no failed attempt
            with suppress(Exception):  # else it is found out that nobody runs it
                await self.engine.sleep(job, self.engine.now())
            raise
        else:
            if self.engine.holds and attempt.outcome in {"retrying", "waiting"}:
                await written(lambda: self.engine.hold_waiting(job))
            self._tell(attempt)
