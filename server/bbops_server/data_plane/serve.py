"""A data-plane process: one loop, a live release of each project, one channel to the parent."""

from __future__ import annotations

import asyncio
import gc
import os
import socket
from collections.abc import Callable, Sequence
from typing import Any

import uvloop

from bbops.base.errors import ServerError
from bbops_server.data_plane.addons import addon_handlers
from bbops_server.data_plane.agents import AGENT_ANSWERS
from bbops_server.data_plane.deliveries import DELIVERY_ANSWERS
from bbops_server.data_plane.drafts.drafts import Drafts
from bbops_server.data_plane.events import EVENT_ANSWERS
from bbops_server.data_plane.gateway.gateway import DataPlane, Proxies
from bbops_server.data_plane.jobs import JOB_ANSWERS, work_handlers
from bbops_server.data_plane.keys import key_handlers
from bbops_server.data_plane.live.directory import Directory
from bbops_server.data_plane.live.request_lines import Lines, RequestLines
from bbops_server.data_plane.live.shared import Bell, join
from bbops_server.data_plane.live.swap import Live, link
from bbops_server.data_plane.realtime.codes import MOST_FRAME_BYTES
from bbops_server.data_plane.realtime.fanout.end import End, RemoteEnd
from bbops_server.process.host.egress import EgressPolicy
from bbops_server.process.host.http import OutsideHttp
from bbops_server.process.host.log import start_logging
from bbops_server.process.host.system import SystemClock, SystemRandom, share_interpreter
from bbops_server.process.messages.channel import ProcessChannel
from bbops_server.process.messages.drafts import (
    AdmitMembers,
    ArrangeDrafts,
    DraftWanted,
    UpdateDraft,
)
from bbops_server.process.messages.lifecycle import (
    Leave,
    Listen,
    Metrics,
    MetricSample,
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
    Refuse,
    Resume,
    SwapRelease,
)
from bbops_server.process.messages.reports import ReportRequests
from bbops_server.process.messages.request import DoneAnswer
from bbops_server.process.messages.service import Handlers, RequestService
from bbops_server.process.sockets.serving import SocketServer

ORPHAN_GRACE_SECONDS = 10.0
"""How long requests may still take when the parent has died."""


class DataProcess:
    """What the parent can ask of a data-plane process."""

    def __init__(
        self, directory: Directory, drafts: Drafts, listening: socket.socket, http: OutsideHttp,
        channel: ProcessChannel, ring: Callable[[], None], end: End,
    ) -> None:  # fmt: skip
        self._directory, self._drafts, self._channel = directory, drafts, channel
        self._end = end
        self._listening, self._http, self._ring = listening, http, ring
        self._plane = DataPlane(directory, drafts)
        self._server = self._serve(self._plane)

    def _serve(self, app: Any) -> SocketServer:
        return SocketServer(app, max_frame_bytes=MOST_FRAME_BYTES)

    @property
    def service(self) -> RequestService:
        """What answers the parent."""
        return RequestService("a data process", self._handlers)

    @property
    def _handlers(self) -> Handlers:
        return {
            LinkRelease: self._link, SwapRelease: self._swap, Refuse: self._refuse,
            Hold: self._hold, Resume: self._resume, Drain: self._drain,
            ArrangeProjects: self._arrange, ArrangeDrafts: self._arrange_drafts,
            AdmitMembers: self._admit, UpdateDraft: self._update_draft,
            **addon_handlers(lambda request: self._live(request.project)),
            **key_handlers(lambda request: self._live(request.project)),
            **work_handlers(
                lambda request: self._live(request.project), self._ring, JOB_ANSWERS,
                DELIVERY_ANSWERS, AGENT_ANSWERS, EVENT_ANSWERS,
            ),
            ReportRequests: self._report_requests, Listen: self._listen, Leave: self._leave,
            ReadStatus: self._read_status, ReadMetrics: self._read_metrics, Stop: self._stop,
        }  # fmt: skip

    def give_up(self) -> None:
        """Let nothing wait for a parent that is gone."""
        for live in self._directory.projects.values():
            live.give_up()

    async def stop(self, grace_seconds: float) -> None:
        """Accept no more requests, answer those under way, close the databases.

        Answers that go on as a stream have half of the grace: then they end, and say why.
        """
        self._close_realtime()
        asyncio.get_running_loop().call_later(grace_seconds / 2, self._end_streams)
        await self._server.stop(grace_seconds)
        self._listening.close()
        await self._directory.close()
        await self._http.close()

    def _end_streams(self) -> None:
        for live in self._directory.projects.values():
            live.active_requests.end_streams()

    # ---- what one project answers with
    async def _link(self, request: LinkRelease) -> LinkReleaseAnswer:
        return await link(self._live(request.project), request)

    async def _swap(self, request: SwapRelease) -> DoneAnswer:
        self._live(request.project).swap(request.name)
        return DoneAnswer()

    async def _refuse(self, request: Refuse) -> DoneAnswer:
        self._live(request.project).refuse(request.diagnostics)
        return DoneAnswer()

    async def _hold(self, request: Hold) -> DoneAnswer:
        live = self._live(request.project)
        await live.hold(seconds=request.seconds, drain_seconds=request.drain_seconds)
        return DoneAnswer()

    async def _resume(self, request: Resume) -> DoneAnswer:
        self._live(request.project).go_on()
        return DoneAnswer()

    async def _drain(self, request: Drain) -> DoneAnswer:
        await self._live(request.project).drain()
        return DoneAnswer()

    def _live(self, name: str) -> Live:
        live = self._directory.projects.get(name)
        if live is None:
            raise ServerError(f"no project '{name}' is served")
        return live

    # ---- which projects and drafts there are
    async def _arrange(self, request: ArrangeProjects) -> DoneAnswer:
        self._directory.arrange(request.projects)
        self._http.allow(EgressPolicy(request.egress), rows=EgressPolicy(request.receivers))
        self._plane.proxies = Proxies(request.proxies) if request.proxies else None
        self._plane.playground_key = bytes.fromhex(request.playground_key)
        return DoneAnswer()

    async def _arrange_drafts(self, request: ArrangeDrafts) -> DoneAnswer:
        self._drafts.arrange(request.drafts, request.hosts)
        return DoneAnswer()

    async def _admit(self, request: AdmitMembers) -> DoneAnswer:
        self._drafts.admit(request.members)
        return DoneAnswer()

    async def _update_draft(self, request: UpdateDraft) -> DoneAnswer:
        """Take note of what becomes of a draft; of one that has just gone, nothing is known."""
        draft = self._drafts.find(request.project)
        if draft is not None:
            draft.be(request.socket, request.refusal, is_busy=request.is_busy)
        return DoneAnswer()

    # ---- the process itself
    async def _report_requests(self, request: ReportRequests) -> DoneAnswer:
        del request
        self._server = self._serve(RequestLines(self._plane, self._directory, self._channel))
        self._end.published = Lines(self._channel).published
        return DoneAnswer()

    async def _listen(self, request: Listen) -> DoneAnswer:
        del request
        self._server.start(self._listening)
        return DoneAnswer()

    async def _leave(self, request: Leave) -> DoneAnswer:
        self._close_realtime()
        await self._server.leave(request.seconds)
        return DoneAnswer()

    def _close_realtime(self) -> None:
        """Let clients that stay connected come back, to another process."""
        for live in self._directory.projects.values():
            live.realtime.close()

    async def _stop(self, request: Stop) -> DoneAnswer:
        await self.stop(request.grace_seconds)
        return DoneAnswer()

    async def _read_metrics(self, request: ReadMetrics) -> Metrics:
        del request
        found = list[MetricSample]()
        for name, live in self._directory.projects.items():
            hub = live.realtime.hub
            found.append(MetricSample("realtime_connections", {}, len(hub.connections), name))
            found.append(MetricSample("realtime_dropped_total", {}, hub.dropped, name))
            found += [
                MetricSample(
                    "deliveries_total", {"webhook": trigger, "outcome": "refused"}, count, name
                )
                for trigger, count in live.refused_deliveries.items()
            ]
        return Metrics(found)

    async def _read_status(self, request: ReadStatus) -> ProcessStatus:
        del request
        releases = [one.release for one in self._directory.projects.values() if one.release]
        name = releases[0].name if len(releases) == 1 else None
        return ProcessStatus(os.getpid(), sum(one.in_flight for one in releases), name)


def run(
    *, control: int, listening: int, bell: int, center: str, shared: Sequence[int] = ()
) -> None:
    """Serve until the parent says stop, or is gone.

    Args:
        control: the channel to the parent.
        listening: where requests come in.
        bell: what wakes the work process.
        center: the path of the socket at which it numbers messages.
        shared: descriptor, lane and number of lanes of `bbops_server.data_plane.live.shared`, if
        there is one.
    """
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_run(control, listening, bell, center, shared))
    os._exit(0)  # to take down all that was imported takes longer than to drain


async def _run(control: int, listening: int, bell: int, center: str, shared: Sequence[int]) -> None:
    log = start_logging()
    counters = join(*shared) if shared else None

    http, ring, end = OutsideHttp(), Bell(bell).ring, RemoteEnd(center)

    def make() -> Live:
        return Live(
            clock=SystemClock(), random=SystemRandom(), log=log, counters=counters, http=http,
            streams=http, ring=ring, end=end,
        )  # fmt: skip

    channel = await ProcessChannel.open(_adopt(control))
    drafts = Drafts(lambda name: channel.post(DraftWanted(name)))
    process = DataProcess(Directory(make), drafts, _adopt(listening), http, channel, ring, end)
    share_interpreter()
    # a full collection over all that was imported would stop requests for tens of milliseconds
    gc.collect()
    gc.freeze()
    # a request leaves no circle behind, and a thousand under way are no garbage
    gc.set_threshold(20_000, 20, 20)
    await process.service.run(channel)
    process.give_up()
    await process.stop(ORPHAN_GRACE_SECONDS)


def _adopt(descriptor: int) -> socket.socket:
    """Take over an inherited socket; the processes this one might start do not get it."""
    os.set_inheritable(descriptor, False)  # noqa: FBT003 - its signature
    return socket.socket(fileno=descriptor)
