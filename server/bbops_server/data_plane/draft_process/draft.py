"""The process of one draft: it has the draft's database, values and code, and nothing else.

It is forked from a warm one and bound by `forks.limits` before it opens anything. No timer runs
while nobody asks.
"""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module
from time import monotonic
from typing import Any, Final

import uvloop

from bbops.base.host import Log
from bbops.runtime.work.worker import Attempt
from bbops_server.data_plane.addons import addon_handlers
from bbops_server.data_plane.agents import AGENT_ANSWERS
from bbops_server.data_plane.deliveries import DELIVERY_ANSWERS
from bbops_server.data_plane.draft_process.answering import Answering, list_rows, sign_in
from bbops_server.data_plane.events import EVENT_ANSWERS
from bbops_server.data_plane.jobs import JOB_ANSWERS, work_handlers
from bbops_server.data_plane.keys import key_handlers
from bbops_server.data_plane.live.swap import Live, Quota, link
from bbops_server.data_plane.work.project import ProjectWork
from bbops_server.process.forks import limits
from bbops_server.process.host.egress import EgressPolicy
from bbops_server.process.host.http import OutsideHttp
from bbops_server.process.host.log import JsonLog, render, start_logging
from bbops_server.process.host.system import SystemClock, SystemRandom, share_interpreter
from bbops_server.process.messages.channel import ProcessChannel
from bbops_server.process.messages.drafts import (
    AllowEgress,
    DraftRows,
    EndStreams,
    ListDraftRows,
    SignInAnswer,
    SignInToDraft,
)
from bbops_server.process.messages.forks import ForkDraft
from bbops_server.process.messages.jobs import RunDraftJobs, RunDraftJobsAnswer
from bbops_server.process.messages.lifecycle import ProcessStatus, ReadStatus, Stop
from bbops_server.process.messages.projects import (
    Drain,
    Hold,
    LinkRelease,
    LinkReleaseAnswer,
    Resume,
    SwapRelease,
)
from bbops_server.process.messages.request import DoneAnswer
from bbops_server.process.messages.service import Handlers, RequestService
from bbops_server.settings import WorkSettings

ORPHAN_GRACE_SECONDS: Final = 1.0
_QUOTA: Final = Quota(
    limits.DRAFT_DATABASE_BYTES, limits.DRAFT_UPLOADS_BYTES, limits.DRAFT_HISTORY_BYTES
)
HELD: Final = "jobs of a draft run on request: 'bbops drafts work BRANCH', or 'bbops jobs release'"
"""Why jobs of drafts wait."""

_LATE_IMPORTS: Final = (
    "bcrypt", "jwt", "multipart", "puremagic", "anyio._backends._asyncio", "sqlite3",
    "bbops.runtime.steps.blocks", "encodings.idna",
)  # fmt: skip
"""What only some requests need; imported here it is shared by all drafts."""


class DraftProcess:
    """What the parent can ask of the process of a draft."""

    def __init__(
        self, live: Live, work: ProjectWork, http: OutsideHttp, serving: Answering,
        egress: Sequence[str],
    ) -> None:  # fmt: skip
        self._live, self._work, self._http, self._serving = live, work, http, serving
        self._egress, self._hosts = egress, tuple[str, ...]()

    @property
    def service(self) -> RequestService:
        """What answers the parent."""
        return RequestService("the process of a draft", self._handlers)

    @property
    def _handlers(self) -> Handlers:
        return {
            LinkRelease: self._link, SwapRelease: self._swap, Hold: self._hold,
            Resume: self._resume, Drain: self._drain, AllowEgress: self._allow,
            **addon_handlers(lambda _: self._live),
            **key_handlers(lambda _: self._live), SignInToDraft: self._sign_in,
            ListDraftRows: self._list_rows,
            **work_handlers(
                lambda _: self._live, self._work.wake, JOB_ANSWERS, DELIVERY_ANSWERS,
                AGENT_ANSWERS, EVENT_ANSWERS,
            ),
            RunDraftJobs: self._run_jobs, EndStreams: self._end_streams,
            ReadStatus: self._read_status, Stop: self._stop,
        }  # fmt: skip

    async def stop(self, grace_seconds: float) -> None:
        """Take no more requests, answer those under way, close the database."""
        await self._serving.stop(grace_seconds)
        await self._work.stop(grace_seconds)
        await self._live.close()
        await self._http.close()

    def _bound(self) -> None:
        """Reach what the server may, of that only the draft's hosts."""
        self._http.allow(EgressPolicy(self._egress, only=self._hosts))

    async def _link(self, request: LinkRelease) -> LinkReleaseAnswer:
        self._hosts = request.hosts or ()
        self._bound()
        linked = await link(self._live, request)
        await self._work.link(request)
        return linked

    async def _swap(self, request: SwapRelease) -> DoneAnswer:
        self._live.swap(request.name)
        await self._work.swap(request.name)
        return DoneAnswer()

    async def _run_jobs(self, request: RunDraftJobs) -> RunDraftJobsAnswer:
        return RunDraftJobsAnswer(await self._work.run_for(request.seconds))

    async def _hold(self, request: Hold) -> DoneAnswer:
        self._work.pause()
        asyncio.get_running_loop().call_later(request.seconds, self._work.go_on)
        await self._live.hold(seconds=request.seconds, drain_seconds=request.drain_seconds)
        return DoneAnswer()

    async def _resume(self, request: Resume) -> DoneAnswer:
        del request
        self._live.go_on()
        self._work.go_on()
        return DoneAnswer()

    async def _drain(self, request: Drain) -> DoneAnswer:
        del request
        await self._live.drain()
        return DoneAnswer()

    async def _allow(self, request: AllowEgress) -> DoneAnswer:
        self._egress = request.egress
        self._bound()
        return DoneAnswer()

    async def _sign_in(self, request: SignInToDraft) -> SignInAnswer:
        return SignInAnswer(await sign_in(self._live, request))

    async def _list_rows(self, request: ListDraftRows) -> DraftRows:
        return DraftRows(await list_rows(self._live, request))

    async def _end_streams(self, request: EndStreams) -> DoneAnswer:
        end = self._live.active_requests.end_streams
        asyncio.get_running_loop().call_later(request.seconds, end)
        return DoneAnswer()

    async def _read_status(self, request: ReadStatus) -> ProcessStatus:
        del request
        return ProcessStatus(os.getpid(), self._live.in_flight)

    async def _stop(self, request: Stop) -> DoneAnswer:
        await self.stop(request.grace_seconds)
        return DoneAnswer()


def _tell(log: BoundedLog, attempt: Attempt) -> None:
    """Note how a job has ended that did not go well."""
    if attempt.outcome not in {"done", "waiting"}:
        log.write("warn", f"job {attempt.job.uid}: {attempt.reason}", {})


def warm() -> None:
    """Import what requests need, before anything is forked."""
    for name in _LATE_IMPORTS:
        import_module(name)


def run(request: ForkDraft) -> None:
    """Serve until the parent says stop, or is gone."""
    limits.apply(limits.DRAFT)
    os.chdir(request.folder)
    os.umask(0o077)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_run(request))


async def _run(request: ForkDraft) -> None:
    start_logging()
    http = OutsideHttp(EgressPolicy(request.egress, only=()))  # until it is told which
    log = BoundedLog(JsonLog(), limits.DRAFT_LOG_BYTES)
    live = Live(clock=SystemClock(), random=SystemRandom(), log=log, http=http, streams=http,
                quota=_QUOTA)  # fmt: skip
    work = ProjectWork(
        live, partial(_tell, log), tell_row=live.realtime.tell_row, holds=HELD
    )  # fmt: skip
    work.configure(WorkSettings(request.concurrency))
    live.ring = work.wake
    serving = Answering(live)
    await serving.start(request.socket)
    process = DraftProcess(live, work, http, serving, request.egress)
    share_interpreter()
    gc.set_threshold(20_000, 20, 20)
    await process.service.run(await ProcessChannel.connect(request.control))
    await process.stop(ORPHAN_GRACE_SECONDS)


_WINDOW_SECONDS: Final = 60.0


class BoundedLog:
    """The door `bbops.base.host.Log`, with so many bytes a minute; what is above is left out."""

    def __init__(self, log: Log, most_bytes: int) -> None:
        self._log, self._most = log, most_bytes
        self._began, self._used, self._left_out = 0.0, 0, 0

    def write(self, level: str, message: str, data: Mapping[str, Any]) -> None:
        """Write one line, if there is room for it."""
        now = monotonic()
        if now - self._began > _WINDOW_SECONDS:
            left_out, self._began, self._used, self._left_out = self._left_out, now, 0, 0
            if left_out:
                self._log.write("warning", f"{left_out} lines of a draft were left out", {})
        self._used += len(render({"message": message, **data}))
        if self._used <= self._most:
            self._log.write(level, message, data)
        else:
            self._left_out += 1
