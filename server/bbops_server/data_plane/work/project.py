"""The work of one project: a worker on its database, with the plan of what is live."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from bbops.base.errors import DatabaseError
from bbops.database.open import Opened
from bbops.database.schema.place import Place
from bbops.database.sqlite.work import SqliteWork
from bbops.runtime.linking.work import Work
from bbops.runtime.values.failures import Failure
from bbops.runtime.work.control import WorkControl
from bbops.runtime.work.dialect import Dialect
from bbops.runtime.work.engine import Engine, now_ms
from bbops.runtime.work.worker import Attempt, Plan, Worker
from bbops_server.data_plane.work.pinned import LinkOld, PinnedWork
from bbops_server.data_plane.work.pins import Pins

_PAUSE_SECONDS: Final = 1.0
_SWEEP_SECONDS: Final = 600.0
_PINS_SPARED_SECONDS: Final = 3600.0
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Assigned:
    """The work of the live release, where its jobs are, and where old code is kept."""

    work: Work
    database: Opened
    place: Place
    pins: Pins

    def plan(self, link_old: LinkOld) -> Plan:
        """Return how its jobs run: each on the code that it began with."""
        pinned = PinnedWork(self.work, self.pins, link_old, self.database)
        return replace(self.work.plan, run=pinned.run)

    async def sweep(self, control: WorkControl) -> None:
        """Forget what is older than it is kept, and old code that no job needs."""
        await control.sweep()
        needed = [one.code for one in await control.begun()]
        before = now_ms() / 1000 - _PINS_SPARED_SECONDS
        await asyncio.to_thread(self.pins.sweep, [*needed, *self.work.codes.items()], before)


class ProjectWork:
    """Does what one project has to do outside of requests."""

    def __init__(self, tell: Callable[[Attempt], None], link_old: LinkOld) -> None:
        """Do nothing yet.

        Args:
            tell: is called with each attempt of a job that has ended.
            link_old: links the work of a release before the live one.
        """
        self._tell, self._link_old = tell, link_old
        self._assigned: Assigned | None = None
        self._worker: Worker | None = None
        self._working: asyncio.Task[None] | None = None
        self._may_begin = True

    async def use(self, assigned: Assigned) -> None:
        """Do the work of a release from now on; jobs that run end as they began."""
        before, self._assigned = self._assigned, assigned
        if before is None or before.place != assigned.place or self._working is None:
            await self.stop(0)
            self._working = asyncio.create_task(self._keep_working(assigned))
        elif self._worker is not None:
            await self._set_plan(self._worker, assigned)

    def pause(self) -> None:
        """Begin no job until `go_on`."""
        self._may_begin = False
        if self._worker is not None:
            self._worker.may_begin.clear()

    def go_on(self) -> None:
        """Begin jobs again."""
        self._may_begin = True
        if self._worker is not None:
            self._worker.may_begin.set()

    def wake(self) -> None:
        """Look at once for what there is to do."""
        if self._worker is not None:
            self._worker.woken.set()

    async def stop(self, grace_seconds: float) -> None:
        """Begin nothing more; what does not end in time goes on in another process."""
        if self._working is None:
            return
        loop = asyncio.get_running_loop()
        until = loop.time() + grace_seconds
        if self._worker is not None:
            self._worker.may_begin.clear()
            while self._worker.running and loop.time() < until:  # noqa: ASYNC110 - it has no end
                await asyncio.sleep(0.02)
        self._working.cancel()
        with suppress(asyncio.CancelledError):
            await self._working
        self._working = self._worker = None

    async def _keep_working(self, begun: Assigned) -> None:
        """Work until cancelled; a database that is away for a while is asked again."""
        while True:
            assigned = self._assigned or begun
            owner = f"{os.getpid()}-{secrets.token_hex(6)}"
            try:
                async with _living(begun.place, owner) as (dialect, lost):
                    engine = Engine(begun.database, dialect, owner)
                    plan = assigned.plan(self._link_old)
                    worker = Worker(engine, plan, _chance, tell=self._tell)
                    await self._begin(worker)
                    control = WorkControl(begun.database, dialect)
                    await _until_lost(worker, lost, lambda: self._sweep(control))  # noqa: B023 - while it is
            except (Failure, DatabaseError) as error:
                _log.warning("work waits for the database: %s", error)
            except Exception:  # noqa: BLE001 - one plan takes no other work along
                _log.exception("the worker failed and starts again")
            await asyncio.sleep(_PAUSE_SECONDS)

    async def _begin(self, worker: Worker) -> None:
        if not self._may_begin:
            worker.may_begin.clear()
        self._worker = worker
        if self._assigned is not None:
            await self._set_plan(worker, self._assigned)

    async def _set_plan(self, worker: Worker, assigned: Assigned) -> None:
        work, engine = assigned.work, worker.engine
        worker.plan = assigned.plan(self._link_old)
        engine.names_cause, engine.hears_dead = work.hears_rows, work.hears_dead
        engine.hears_missed = work.hears_missed
        await WorkControl(assigned.database, engine.dialect).rename(work.renamed)
        await engine.set_ticks(work.tasks.first(engine.now()))
        worker.woken.set()

    async def _sweep(self, control: WorkControl) -> None:
        if self._assigned is not None:
            await self._assigned.sweep(control)


def _chance() -> float:
    """Return a number from 0 to 1, so that what failed together comes back apart."""
    return secrets.randbelow(1001) / 1000


@asynccontextmanager
async def _living(place: Place, owner: str) -> AsyncIterator[tuple[Dialect, asyncio.Event]]:
    """Show others that a worker lives; yields the dialect, and what is set when it does not."""
    if isinstance(place, Path):  # one process works on a file, so nobody asks
        yield SqliteWork(), asyncio.Event()
        return
    from bbops.database.postgres.alive import alive  # noqa: PLC0415 - an extra
    from bbops.database.postgres.work import PostgresWork  # noqa: PLC0415 - see above

    async with alive(place, owner) as lost:
        yield PostgresWork(), lost


async def _until_lost(
    worker: Worker, lost: asyncio.Event, sweep: Callable[[], Awaitable[None]]
) -> None:
    """Let a worker work until its life is lost, and others have its jobs."""
    working, losing = asyncio.create_task(worker.run()), asyncio.create_task(lost.wait())
    sweeping = asyncio.create_task(_keep_sweeping(sweep))
    try:
        await asyncio.wait({working, losing}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (losing, sweeping, working):
            task.cancel()
        await asyncio.wait({working, sweeping})
    if not working.cancelled():
        working.result()


async def _keep_sweeping(sweep: Callable[[], Awaitable[None]]) -> None:
    """Forget now and then what is not needed any more."""
    while True:
        with suppress(Failure, OSError):  # it is tried again, and is not urgent
            await sweep()
        await asyncio.sleep(_SWEEP_SECONDS)
