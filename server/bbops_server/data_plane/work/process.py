"""The work process: live releases without a socket, and a worker for each that has work."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import socket
from collections.abc import Mapping
from functools import partial
from typing import Final

import uvloop
from msgspec.structs import replace

from bbops.base.errors import ServerError
from bbops.runtime.work.worker import Attempt, Seats, WorkActivity
from bbops_server.data_plane.live.directory import Directory
from bbops_server.data_plane.live.shared import listen
from bbops_server.data_plane.live.swap import Live, link
from bbops_server.data_plane.realtime.fanout.center import Center
from bbops_server.data_plane.realtime.fanout.end import CenterEnd, End
from bbops_server.data_plane.realtime.fanout.end import listen as meet
from bbops_server.data_plane.realtime.fanout.frames import Changed
from bbops_server.data_plane.work.counting import WorkCounts, WorkLines, place_of
from bbops_server.data_plane.work.project import ProjectWork
from bbops_server.data_plane.work.row_tail import Exchanges
from bbops_server.process.host.egress import EgressPolicy
from bbops_server.process.host.http import OutsideHttp
from bbops_server.process.host.log import start_logging
from bbops_server.process.host.system import SystemClock, SystemRandom, share_interpreter
from bbops_server.process.messages.channel import ProcessChannel
from bbops_server.process.messages.lifecycle import (
    Metrics,
    ProcessStatus,
    ReadMetrics,
    ReadStatus,
    Stop,
)
from bbops_server.process.messages.projects import (
    ArrangeProjects,
    Drain,
    Hold,
    LinkRelease,
    LinkReleaseAnswer,
    Resume,
    SwapRelease,
)
from bbops_server.process.messages.reports import ReportRequests
from bbops_server.process.messages.request import DoneAnswer
from bbops_server.process.messages.service import Handlers, RequestService
from bbops_server.settings import WorkSettings

ORPHAN_GRACE_SECONDS: Final = 2.0
"""How long jobs may still take when the parent has died: another process goes on with them."""

_log = logging.getLogger(__name__)


class WorkProcess:
    """What the parent can ask of the work process."""

    def __init__(
        self,
        directory: Directory,
        http: OutsideHttp,
        channel: ProcessChannel,
        center: Center,
        end: End,
    ) -> None:
        self._directory, self._http, self._channel = directory, http, channel
        self._center, self._exchanges, self._end = center, Exchanges(center), end
        self._projects: dict[str, ProjectWork] = {}
        self._lines: WorkLines | None = None
        self._counts, self._settings, self._seats = WorkCounts(), WorkSettings(), Seats()

    @property
    def service(self) -> RequestService:
        """What answers the parent."""
        return RequestService("the work process", self._handlers)

    @property
    def _handlers(self) -> Handlers:
        return {
            LinkRelease: self._link, SwapRelease: self._swap, Hold: self._hold,
            Resume: self._resume, Drain: self._drain, ArrangeProjects: self._arrange,
            ReportRequests: self._report, ReadStatus: self._read_status,
            ReadMetrics: self._read_metrics, Stop: self._stop,
        }  # fmt: skip

    def wake(self) -> None:
        """Look at once for what there is to do."""
        for one in self._projects.values():
            one.wake()

    async def stop(self, grace_seconds: float) -> None:
        """End jobs in the time they have, and close the databases."""
        await asyncio.gather(*(one.stop(grace_seconds) for one in self._projects.values()))
        await self._exchanges.stop_all()
        await self._directory.close()
        await self._http.close()

    # ---- what one project does
    async def _link(self, request: LinkRelease) -> LinkReleaseAnswer:
        live = self._live(request.project)
        # there are no visitors here
        linked = await link(live, replace(request, frontend="", start=None))
        await self._project(request.project).link(request)
        return linked

    async def _swap(self, request: SwapRelease) -> DoneAnswer:
        live = self._live(request.project)
        live.swap(request.name)
        await self._exchanges.follow(request.project, live)
        await self._project(request.project).swap(request.name)
        return DoneAnswer()

    async def _hold(self, request: Hold) -> DoneAnswer:
        live, project = self._live(request.project), self._project(request.project)
        project.pause()
        asyncio.get_running_loop().call_later(request.seconds, project.go_on)
        await live.hold(seconds=request.seconds, drain_seconds=request.drain_seconds)
        return DoneAnswer()

    async def _resume(self, request: Resume) -> DoneAnswer:
        self._live(request.project).go_on()
        self._project(request.project).go_on()
        return DoneAnswer()

    async def _drain(self, request: Drain) -> DoneAnswer:
        await self._live(request.project).drain()
        return DoneAnswer()

    def _live(self, name: str) -> Live:
        live = self._directory.projects.get(name)
        if live is None:
            raise ServerError(f"no project '{name}' is served")
        return live

    def _project(self, name: str) -> ProjectWork:
        if name not in self._projects:
            self._projects[name] = ProjectWork(
                self._live(name), partial(self._tell, name),
                tell_row=partial(self._tell_row, name), notice=partial(self._notice, name),
                seats=self._seats,
            )  # fmt: skip
            self._projects[name].configure(self._settings)
        return self._projects[name]

    # ---- the process itself
    async def _arrange(self, request: ArrangeProjects) -> DoneAnswer:
        gone: Mapping[str, ProjectWork] = {
            name: one for name, one in self._projects.items() if name not in request.projects
        }
        for name, one in gone.items():
            await one.stop(0)
            await self._exchanges.stop(name)
            del self._projects[name]
        self._directory.arrange(request.projects)
        self._settings = WorkSettings(request.concurrency, request.keep_seconds)
        for project in self._projects.values():
            project.configure(self._settings)
        self._http.allow(EgressPolicy(request.egress), rows=EgressPolicy(request.receivers))
        return DoneAnswer()

    async def _report(self, request: ReportRequests) -> DoneAnswer:
        del request
        self._lines = WorkLines(self._channel)
        self._end.published = self._lines.published
        return DoneAnswer()

    async def _read_status(self, request: ReadStatus) -> ProcessStatus:
        del request
        releases = [one.release for one in self._directory.projects.values() if one.release]
        return ProcessStatus(os.getpid(), sum(one.in_flight for one in releases), None)

    async def _read_metrics(self, request: ReadMetrics) -> Metrics:
        del request
        found = list(self._counts.samples())
        for name, one in tuple(self._projects.items()):
            found += [replace(sample, project=name) for sample in await one.queue_samples()]
        return Metrics(found)

    async def _stop(self, request: Stop) -> DoneAnswer:
        await self.stop(request.grace_seconds)
        return DoneAnswer()

    def _tell_row(self, project: str, number: int, event: str, payload: str) -> None:
        """Tell data processes of a changed row that a topic shows."""
        known = self._live(project).realtime.project
        self._center.tell_all(Changed(known, number, event, payload))

    def _tell(self, project: str, attempt: Attempt) -> None:
        """Tell of an attempt that has ended: `bbops dev` of each, the log of those that failed."""
        self._counts.ended(project, attempt)
        job, at = attempt.job, place_of(attempt)
        if self._lines is not None:
            self._lines.ended(attempt)
        elif attempt.outcome in _SAID:
            said = _SAID[attempt.outcome].format(at=f" at {at}" if at else "")
            named = f"{project}: {job.uid}" if project else job.uid
            release = self._live(project).release
            reason = release.answering.mask.text(attempt.reason) if release else ""
            _log.warning("job %s %s: %s", named, said, reason)

    def _notice(self, project: str, happening: WorkActivity) -> None:
        self._counts.happened(project, happening)
        if self._lines is not None:
            self._lines.happened(happening)


_SAID: Final = {
    "retrying": "failed{at} and will be tried again", "dead": "failed{at} for the last time",
    "held": "is held",
}  # fmt: skip


def run(*, control: int, bell: int, center: int) -> None:
    """Work until the parent says stop, or is gone."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_run(control, bell, center))
    os._exit(0)  # to take down all that was imported takes longer than to drain


async def _run(control: int, bell: int, center: int) -> None:
    log, http = start_logging(), OutsideHttp()
    os.set_inheritable(control, False)  # noqa: FBT003 - its signature
    channel = await ProcessChannel.open(socket.socket(fileno=control))

    numbering = Center(has_servers=True)
    end = CenterEnd(numbering)
    meeting = await meet(numbering, center)

    def make() -> Live:
        return Live(
            clock=SystemClock(), random=SystemRandom(), log=log, http=http, answers=False,
            end=end,
        )  # fmt: skip

    process = WorkProcess(Directory(make), http, channel, numbering, end)
    listen(bell, process.wake)
    share_interpreter()
    gc.collect()
    gc.freeze()
    await process.service.run(channel)
    await process.stop(ORPHAN_GRACE_SECONDS)
    meeting.close()
