"""Run the jobs of one project: claim, run, try again, and look for what is due."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final

from bbops.runtime.values.failures import Failure
from bbops.runtime.work.durable import Recorded
from bbops.runtime.work.engine import Due, Engine, Route
from bbops.runtime.work.retry import Retry
from bbops.runtime.work.values import Claim, FencedError, Tick

MOST_AT_A_TIME: Final = 50
"""Jobs of one project that run in one process."""

LOOK_SECONDS: Final = 1.0
"""Between two looks where nobody says that something has happened."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Plan:
    """What a release says of its work.

    Attributes:
        route: which jobs an event makes.
        run: does a job.
        due: of a tick and the time, when its task runs, and the next tick.
        retry: how often work of a name is tried.
    """

    route: Route
    run: Callable[[Recorded], Awaitable[None]]
    due: Callable[[Tick, int], Due]
    retry: Callable[[str], Retry] = lambda _: Retry()


class Worker:
    """Runs jobs until it is cancelled; `woken` is set by whoever has committed something."""

    def __init__(
        self, engine: Engine, plan: Plan, chance: Callable[[], float], *,
        most: int = MOST_AT_A_TIME,
    ) -> None:  # fmt: skip
        self._engine, self._plan, self._chance, self._most = engine, plan, chance, most
        self._running: dict[int, asyncio.Task[None]] = {}
        self._due: int | None = None
        self.woken = asyncio.Event()

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
                self.woken.clear()
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

    async def _look(self) -> None:
        """Do what time and other workers ask for."""
        lost = await self._engine.reclaim()
        if lost:
            _log.warning("%d jobs go on: the process that ran them has ended", len(lost))
        await self._engine.renew()
        await self._engine.tick(self._plan.due)

    async def _turn(self) -> bool:
        """Move events and begin jobs; return whether there may be more at once."""
        moved = await self._engine.pump(self._plan.route)
        self._due = await self._engine.wake_due()
        room = self._most - len(self._running)
        claimed = await self._engine.claim(room) if room else []
        for job in claimed:
            task = asyncio.create_task(self._one(job))
            self._running[job.id] = task
            task.add_done_callback(partial(self._ended, job.id))
        return bool(moved or (claimed and len(self._running) < self._most))

    async def _wait(self) -> None:
        seconds = LOOK_SECONDS
        if self._due is not None:
            seconds = max(0.001, min(seconds, self._engine.seconds_until(self._due)))
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.woken.wait()

    def _ended(self, number: int, _task: asyncio.Task[None]) -> None:
        self._running.pop(number, None)
        self.woken.set()

    async def _one(self, job: Claim) -> None:
        try:
            known = await self._engine.steps(job) if job.attempt > 1 or job.fence > 1 else {}
            await self._plan.run(Recorded(self._engine, job, known))
            await self._engine.end(job)
        except FencedError:
            _log.info("job %s goes on elsewhere", job.uid)
        except Failure as failure:
            await self._failed(job, failure.message)
        except Exception as error:  # noqa: BLE001 - one job takes no other along
            _log.exception("job %s failed", job.uid)
            await self._failed(job, f"unexpected {type(error).__name__}")

    async def _failed(self, job: Claim, message: str) -> None:
        pause = self._plan.retry(job.work).pause_ms(job.attempt, self._chance())
        again_at = None if pause is None else self._engine.now() + pause
        await self._engine.fail(job, message, again_at)
