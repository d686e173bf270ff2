"""The work of one project: a worker on its database, with the plan of what is live."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

from bbops.base.errors import DatabaseError
from bbops.database.schema.place import Place, read_place
from bbops.database.sqlite.work import SqliteWork
from bbops.runtime.linking.work import Work, link_work
from bbops.runtime.values.failures import Failure
from bbops.runtime.work.control import WorkControl, read_sizes, read_snapshot_age
from bbops.runtime.work.events import unwrap
from bbops.runtime.work.sql_engine import SqlEngine
from bbops.runtime.work.statements import WorkDialect
from bbops.runtime.work.worker import Attempt, Seats, WorkActivity, Worker
from bbops_server.data_plane.live.artifact import read_artifact
from bbops_server.data_plane.live.swap import Live
from bbops_server.data_plane.work.pins import Assigned, Pins
from bbops_server.data_plane.work.row_tail import RowTail, Tell
from bbops_server.process.messages.lifecycle import MetricSample
from bbops_server.process.messages.projects import LinkRelease
from bbops_server.settings import WorkSettings

_PAUSE_SECONDS: Final = 1.0
_SWEEP_SECONDS: Final = 600.0
_log = logging.getLogger(__name__)


class ProjectWork:
    """Does what one project has to do outside of requests."""

    def __init__(
        self, live: Live, tell: Callable[[Attempt], None], *, tell_row: Tell, holds: str = "",
        notice: Callable[[WorkActivity], None] = lambda _: None, seats: Seats | None = None,
    ) -> None:  # fmt: skip
        """Do nothing yet.

        Args:
            live: has the releases, which `link` and `swap` follow.
            tell: is called with each attempt of a job that has ended.
            tell_row: is called with each changed row that a topic shows.
            holds: why jobs do not begin by themselves, see `Engine`; `run_for` lets them.
            notice: is called with what else happens.
            seats: of the process, which its other projects share.
        """
        self._live, self._tell, self._reason = live, tell, holds
        self._tell_row, self._holds, self._notice = tell_row, holds, notice
        self._tail: RowTail | None = None
        self._linked = dict[str, Assigned]()
        self._assigned: Assigned | None = None
        self._worker: Worker | None = None
        self._working: asyncio.Task[None] | None = None
        self._may_begin = True
        self._ending: asyncio.Task[None] | None = None
        self._settings, self._seats = WorkSettings(), seats

    # ---- which release
    async def link(self, request: LinkRelease) -> None:
        """Link the work of the release that `live` has just linked, and keep its code."""
        release = self._live.linked
        assert release is not None  # noqa: S101 - it has just been linked
        artifact = Path(request.artifact)
        data, _ = await asyncio.to_thread(read_artifact, artifact)
        work, pins = link_work(data, release), Pins(artifact.parent.with_name("pins"))
        await asyncio.to_thread(pins.keep, artifact, work.codes.items())
        place = read_place(request.database)
        database = unwrap(release.answering.host.database)
        self._linked[request.name] = Assigned(work, database, place, pins)

    async def swap(self, name: str) -> None:
        """Do the work of a linked release from now on; jobs that run end as they began."""
        assigned = self._linked[name]
        self._linked.clear()
        self.go_on()
        before, self._assigned = self._assigned, assigned
        if before is None or before.place != assigned.place or self._working is None:
            await self.stop(0)
            self._working = asyncio.create_task(self._keep_working(assigned))
        elif self._worker is not None:
            await self._set_plan(self._worker, assigned)

    async def _link_old(self, artifact: Path) -> Work:
        """Link the work of a release before the live one. Raises as `Live.link_old`."""
        data, _ = await asyncio.to_thread(read_artifact, artifact)
        return link_work(data, await self._live.link_old(data))

    # ---- when
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

    def configure(self, settings: WorkSettings) -> None:
        """Run so many jobs at a time from now on, and keep ended ones so long."""
        self._settings = settings
        if self._worker is not None:
            self._worker.limit = settings.concurrency
            self._worker.woken.set()

    def wake(self) -> None:
        """Look at once for what there is to do."""
        if self._worker is not None:
            self._worker.woken.set()

    async def run_for(self, seconds: float) -> int:
        """Let jobs and tasks run by themselves for a time; 0 ends that.

        Returns:
            How many jobs were held, and run now.
        """
        if self._ending is not None:
            self._ending.cancel()
        self._holds = "" if seconds else self._reason
        if seconds:
            self._ending = asyncio.create_task(self._end_after(seconds))
        return await self._apply_holds()

    async def _end_after(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        self._ending = None
        await self.run_for(0)

    async def queue_samples(self) -> list[MetricSample]:
        """Return how full the queue is; nothing while the database is away."""
        if self._worker is None:
            return []
        engine = self._worker.engine
        try:
            sizes = await read_sizes(engine.database, engine.now())
            age = await read_snapshot_age(engine.database, engine.dialect)
        except Failure:
            return []
        oldest = [MetricSample("outbox_oldest_seconds", {}, sizes.oldest_seconds)]
        if age is not None:
            oldest.append(MetricSample("snapshot_age_seconds", {}, age))
        jobs = [MetricSample("jobs", {"work": work, "state": state}, count)
                for work, state, count in sizes.jobs]  # fmt: skip
        return [*jobs, *oldest]

    async def _apply_holds(self) -> int:
        worker, assigned = self._worker, self._assigned
        if worker is None or assigned is None:
            return 0
        await self._set_plan(worker, assigned)
        if self._holds:
            await worker.engine.hold_waiting()
            return 0
        control = WorkControl(worker.engine.database, worker.engine.dialect)
        released = await control.release()
        worker.woken.set()
        return released

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
        for task in filter(None, (self._ending, self._working)):
            task.cancel()
        with suppress(asyncio.CancelledError):
            await self._working
        self._working = self._worker = self._ending = None

    # ---- the worker
    async def _keep_working(self, begun: Assigned) -> None:
        """Work until cancelled; a database that is away for a while is asked again."""
        while True:
            assigned = self._assigned or begun
            owner = f"{os.getpid()}-{secrets.token_hex(6)}"
            try:
                async with _living(begun.place, owner) as (dialect, lost):
                    engine = SqlEngine(begun.database, dialect, owner)
                    plan = assigned.plan(self._link_old)
                    tail = self._tail = RowTail(begun.database, dialect, self._tell_row)
                    worker = Worker(
                        engine, plan, _chance, limit=self._settings.concurrency,
                        on_attempt=self._tell, on_moved=tail.woken.set, on_activity=self._notice,
                        seats=self._seats,
                    )  # fmt: skip
                    await self._begin(worker)
                    await _until_lost(worker, lost, self._keep_sweeping(worker), tail.run())
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
        if self._holds:
            await worker.engine.hold_waiting()

    async def _set_plan(self, worker: Worker, assigned: Assigned) -> None:
        work, engine = assigned.work, worker.engine
        worker.plan, engine.hold_reason = assigned.plan(self._link_old), self._holds
        engine.records_cause, engine.dead_job_triggers = work.hears_rows, work.hears_dead
        engine.reports_missed = work.hears_missed
        engine.logged_columns = work.keeps
        if self._tail is not None:
            self._tail.tables = work.kept_rows
        await WorkControl(assigned.database, engine.dialect).rename_ticks(work.renamed)
        await engine.set_ticks([] if self._holds else work.tasks.first(engine.now()))
        worker.woken.set()

    async def _keep_sweeping(self, worker: Worker) -> None:
        """Forget now and then what is not needed any more."""
        control = WorkControl(worker.engine.database, worker.engine.dialect)
        while True:
            with suppress(Failure, OSError):  # it is tried again, and is not urgent
                if self._assigned is not None:
                    await self._assigned.sweep(control, self._settings.keep_seconds)
            await asyncio.sleep(_SWEEP_SECONDS)


def _chance() -> float:
    """Return a number from 0 to 1, so that what failed together comes back apart."""
    return secrets.randbelow(1001) / 1000


@asynccontextmanager
async def _living(place: Place, owner: str) -> AsyncIterator[tuple[WorkDialect, asyncio.Event]]:
    """Show others that a worker lives; yields the dialect, and what is set when it does not."""
    if isinstance(place, Path):  # one process works on a file, so nobody asks
        yield SqliteWork(), asyncio.Event()
        return
    from bbops.database.postgres.work import PostgresWork, alive  # noqa: PLC0415 - see above

    async with alive(place, owner) as lost:
        yield PostgresWork(), lost


async def _until_lost(worker: Worker, lost: asyncio.Event, *beside: Awaitable[None]) -> None:
    """Let a worker work until its life is lost, and others have its jobs.

    Args:
        beside: what goes on meanwhile, without an end.
    """
    working, losing = asyncio.create_task(worker.run()), asyncio.create_task(lost.wait())
    others = {asyncio.ensure_future(one) for one in beside}
    try:
        await asyncio.wait({working, losing}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (losing, working, *others):
            task.cancel()
        await asyncio.wait({working, *others})
    if not working.cancelled():
        working.result()
