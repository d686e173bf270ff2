"""The work of one project: a worker on its database, with the plan of what is live."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

from bbops.base.errors import DatabaseError
from bbops.base.host import Database
from bbops.database.schema.place import Place
from bbops.database.sqlite.work import SqliteWork
from bbops.runtime.linking.work import Work
from bbops.runtime.values.failures import Failure
from bbops.runtime.work.control import WorkControl
from bbops.runtime.work.dialect import Dialect
from bbops.runtime.work.engine import Engine
from bbops.runtime.work.worker import Attempt, Worker

_PAUSE_SECONDS: Final = 1.0
_SWEEP_SECONDS: Final = 600.0
_log = logging.getLogger(__name__)


class ProjectWork:
    """Does what one project has to do outside of requests."""

    def __init__(self, tell: Callable[[Attempt], None]) -> None:
        """`tell` is called with each attempt of a job that has ended."""
        self._tell = tell
        self._work: Work | None = None
        self._place: Place | None = None
        self._worker: Worker | None = None
        self._working: asyncio.Task[None] | None = None
        self._may_begin = True

    async def use(self, work: Work, database: Database, place: Place) -> None:
        """Do the work of a release from now on; jobs that run end as they began."""
        is_elsewhere = place != self._place
        self._work, self._place = work, place
        if is_elsewhere or self._working is None:
            await self.stop(0)
            self._working = asyncio.create_task(self._keep_working(work, database, place))
        elif self._worker is not None:
            await self._set_plan(self._worker, work)

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

    async def _keep_working(self, work: Work, database: Database, place: Place) -> None:
        """Work until cancelled; a database that is away for a while is asked again."""
        while True:
            owner = f"{os.getpid()}-{secrets.token_hex(6)}"
            try:
                async with _living(place, owner) as (dialect, lost):
                    engine = Engine(database, dialect, owner)
                    worker = Worker(engine, work.plan, _chance, tell=self._tell)
                    await self._begin(worker)
                    await _until_lost(worker, lost, WorkControl(database, dialect))
            except (Failure, DatabaseError) as error:
                _log.warning("work waits for the database: %s", error)
            except Exception:  # noqa: BLE001 - one plan takes no other work along
                _log.exception("the worker failed and starts again")
            work = self._work or work
            await asyncio.sleep(_PAUSE_SECONDS)

    async def _begin(self, worker: Worker) -> None:
        if not self._may_begin:
            worker.may_begin.clear()
        self._worker = worker
        if self._work is not None:
            await self._set_plan(worker, self._work)

    async def _set_plan(self, worker: Worker, work: Work) -> None:
        worker.plan, worker.engine.names_cause = work.plan, work.hears_rows
        worker.engine.hears_dead = work.hears_dead
        await worker.engine.set_ticks(work.tasks.first(worker.engine.now()))
        worker.woken.set()


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


async def _until_lost(worker: Worker, lost: asyncio.Event, control: WorkControl) -> None:
    """Let a worker work until its life is lost, and others have its jobs."""
    working, losing = asyncio.create_task(worker.run()), asyncio.create_task(lost.wait())
    sweeping = asyncio.create_task(_keep_sweeping(control))
    try:
        await asyncio.wait({working, losing}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (losing, sweeping, working):
            task.cancel()
        await asyncio.wait({working, sweeping})
    if not working.cancelled():
        working.result()


async def _keep_sweeping(control: WorkControl) -> None:
    """Forget now and then what is older than it is kept."""
    while True:
        with suppress(Failure):  # it is tried again, and is not urgent
            await control.sweep()
        await asyncio.sleep(_SWEEP_SECONDS)
