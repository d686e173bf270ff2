"""The parent's side of the data plane: the projects, releases and requests of processes."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from msgspec.structs import asdict

from bbops.base.errors import BbopsError, ServerError
from bbops.base.json_diagnostics import JsonDiagnostic
from bbops_server.data_plane.live.shared import Shared, make_bell
from bbops_server.process.children import Child, ChildGone, SupervisedChild, hide_variables
from bbops_server.process.messages.drafts import (
    AllowEgress,
    ArrangeDrafts,
    DraftPlace,
    DraftWanted,
    UpdateDraft,
)
from bbops_server.process.messages.lifecycle import Leave, Listen, ProcessStatus, ReadStatus
from bbops_server.process.messages.projects import (
    EVERYWHERE,
    ArrangeProjects,
    Drain,
    ProjectPlace,
    Resume,
)
from bbops_server.process.messages.reports import REPORTED, Reported, ReportRequests
from bbops_server.process.messages.request import A, RequestMessage
from bbops_server.publish.processes.awake_drafts import AwakeDrafts
from bbops_server.publish.processes.link import PLAYGROUND_KEY, Link
from bbops_server.publish.processes.requests import (
    LINK_SECONDS,
    SHORT_SECONDS,
    SendRequest,
    ask_all,
    ask_slowly,
    hold,
    refuse_request,
    start_build,
    start_data,
    swap,
)
from bbops_server.publish.processes.work import CenterSocket, WorkChild
from bbops_server.settings import Settings, WorkSettings

HOLD_SECONDS = 10.0
"""The longest time for which requests are queued while names and types change."""

DRAFT_MOVES = b'{"error":{"code":"draftSleeps","message":"another server takes over; ask again"}}'
"""The response of a draft while another server takes over."""

_log = logging.getLogger(__name__)


class Plane:
    """The build process and the data processes; a dead process is replaced and brought up to date.

    `settings` are the current ones, with the actual port instead of 0. `wake` is called for a
    request to a draft, `on_report` with each request and job of `bbops dev`. `opened` is set once
    the control plane listens, too.

    A server that takes over from a predecessor is ready before it may change anything: `owned` is
    set once it owns the state folder, `alone` once no process of the predecessor serves requests,
    so that releases may change.
    """

    def __init__(self, settings: Settings, listening: socket.socket) -> None:
        """The data processes inherit `listening`; no process is started yet."""
        hide_variables(settings.secret_variables)
        self.settings = settings
        self.opened, self.owned, self.alone = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._is_open = False
        self.keeps_drafts = False
        """Whether drafts stay arranged without their loops, during a handover."""
        self.wake: Callable[[str], None] = lambda _: None
        self.on_report: Callable[[Reported], None] = lambda _: None
        self._arrangement = Arrangement({"": EVERYWHERE})
        self._drafts: dict[str, Mapping[str, DraftPlace]] = {}
        self._links: dict[str, Link] = {}
        self._refusals: dict[str, list[JsonDiagnostic]] = {}
        self._held: dict[str, float] = {}
        self._publishing: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._build = SupervisedChild(start_build, skips_pings_when_busy=True)

        self._shared = Shared(settings.workers) if settings.workers > 1 else None
        self._wake_up, self._woken = make_bell()
        self._center = CenterSocket()
        starts = [
            partial(start_data, listening, self._wake_up, self._center.path, self._shared, n)
            for n in range(settings.workers)
        ]
        self._data = [SupervisedChild(start, self._prepare) for start in starts]
        self.work = WorkChild((self._woken, self._center.listening), self._prepare_work)
        self.awake = AwakeDrafts(self._broadcast, lambda: self.settings.drafts.awake)

    @property
    def build(self) -> SupervisedChild:
        """The build process, replaced if it dies."""
        return self._build

    async def start(self) -> None:
        """Start every process; the data processes do not listen before `listen`.

        Raises:
            BbopsError: a process does not start; the others are stopped.
        """
        try:
            await ask_all(child.start() for child in (self._build, *self._data))
        except BbopsError:
            await self.stop(0)
            raise

    async def own(self) -> None:
        """Take ownership of the state folder, which allows changes. Raises as `start`."""
        self.owned.set()
        await self.work.allow()

    async def listen(self) -> None:
        """Start to accept connections; a project without a release responds with 503.

        Raises:
            BbopsError: a process does not respond.
        """
        self._is_open = True
        await self._broadcast(Listen())

    async def release_ownership(self) -> None:
        """Stop the processes that only one server may run: work, builds and drafts.

        Live releases keep serving.
        """
        self.wake = lambda _: None
        await self.work.stop(SHORT_SECONDS / 2)
        await self._build.stop(SHORT_SECONDS)
        for draft in self._draft_places():
            await self._broadcast(UpdateDraft(draft, refusal=DRAFT_MOVES))
        await self.awake.stop(SHORT_SECONDS)

    async def regain_ownership(self) -> None:
        """Start the build process again, after `release_ownership`. Raises as `start`."""
        self._build = SupervisedChild(start_build, skips_pings_when_busy=True)
        self.awake.resume()
        await self._build.start()
        await self.own()

    async def leave(self, seconds: float) -> None:
        """Stop accepting connections; return once all have ended, or the time is up."""
        leaving, timeout = Leave(seconds), seconds + SHORT_SECONDS
        requests = (child.ask(leaving, timeout_seconds=timeout) for child in self._data)
        await asyncio.gather(*requests, return_exceptions=True)

    async def arrange(self, arrangement: Arrangement) -> None:
        """Serve exactly these projects.

        Raises:
            BbopsError: a process does not respond; it is arranged once it does.
        """
        self._arrangement = arrangement
        await self._forget_removed(set())
        self.awake.egress, self.awake.concurrency = arrangement.egress, arrangement.work.concurrency
        await self._broadcast(arrangement.request())
        await ask_all(ask_slowly(child, arrangement.request()) for child in self.work.children)
        await self.awake.send_all(AllowEgress(tuple(arrangement.egress)))

    async def arrange_drafts(self, project: str, drafts: Mapping[str, DraftPlace]) -> None:
        """Serve exactly these drafts of a project. Raises as `arrange`."""
        if self.keeps_drafts:
            return
        self._drafts[project] = dict(drafts)
        await self._broadcast(self._draft_request())
        await self._forget_removed(set())
        if drafts:
            self.awake.warm()

    async def put_to_sleep(self, draft: str) -> None:
        """Put a draft to sleep until its next request. Raises as `arrange`."""
        await self._forget_removed({draft})

    def _draft_places(self) -> dict[str, DraftPlace]:
        return {name: place for drafts in self._drafts.values() for name, place in drafts.items()}

    def _draft_request(self) -> ArrangeDrafts:
        return ArrangeDrafts(self._draft_places(), self.settings.drafts.hosts)

    async def _broadcast(self, request: RequestMessage[Any]) -> None:
        await ask_all(ask_slowly(child, request) for child in self._data)

    async def _forget_removed(self, sleeping: AbstractSet[str]) -> None:
        """Remove the state of projects and drafts that are not served, or are asleep."""
        drafts = self._draft_places().keys()
        served = self._arrangement.places.keys() | drafts
        for states in (self._links, self._refusals, self._publishing):
            for name in states.keys() - (served - sleeping):
                del states[name]
        self.work.projects &= served
        await self.awake.forget(self.awake.names - (drafts - sleeping))

    @property
    def has_one_project(self) -> bool:
        """Whether exactly one project is served."""
        return len(self._arrangement.places) == 1

    def is_live(self, project: str) -> bool:
        """Return whether a project has a live release."""
        return self._find_link(project) is not None

    def find_live(self, project: str) -> str:
        """Return the digest of a project's live release; empty without one."""
        link = self._find_link(project)
        return link.artifact.name if link else ""

    def _find_link(self, project: str) -> Link | None:
        return self._links.get(project) or self.awake.find_link(project)

    async def link(self, link: Link) -> None:
        """Link a release in every data process, next to the live one.

        Raises:
            BbopsError: a process cannot link it.
        """
        async with self._publishing[link.project]:
            if self._is_draft(link.project):
                await self.awake.link(link)
                return
            answers = await ask_all(ask_slowly(child, link.request()) for child in self._data)
            if link.project in self.work.projects or any(answer.has_work for answer in answers):
                await self.work.link(link)

    async def swap(self, link: Link) -> None:
        """Make the linked release live in every data process; return when it is.

        Raises:
            BbopsError: a process does not respond; its replacement links and swaps on its own.
        """
        async with self._publishing[link.project]:
            if self._is_draft(link.project):
                await self.awake.swap(link)
                return
            # from here on, the replacement of a dead process starts with this release
            self._links[link.project] = link
            self._refusals.pop(link.project, None)
            await ask_all(swap(child, link) for child in self._data)
            await self.work.swap(link)

    @asynccontextmanager
    async def held(self, project: str) -> AsyncIterator[float]:
        """Queue a project's new requests while the block runs, and let running ones finish.

        Yields:
            The loop time until which they are queued; then they continue in any case.

        Raises:
            BbopsError: a process does not respond; requests continue in all processes.
        """
        until, drafts = asyncio.get_running_loop().time() + HOLD_SECONDS, self._draft_places()
        senders: list[SendRequest] = (
            [partial(self.awake.ask, project)] if project in drafts else self.senders
        )
        if project not in drafts:
            self._held[project] = until
        try:
            await ask_all(hold(ask, project, until) for ask in senders)
            yield until
        finally:
            self._held.pop(project, None)
            requests = (ask(Resume(project), timeout_seconds=SHORT_SECONDS) for ask in senders)
            await asyncio.gather(*requests, return_exceptions=True)

    async def drain(self, project: str) -> None:
        """Return once previous releases have no requests left, or their time is up.

        Raises:
            BbopsError: a process does not respond.
        """
        if self._is_draft(project):
            await self.awake.ask(project, Drain(project), timeout_seconds=LINK_SECONDS)
        else:
            await self._broadcast(Drain(project))
            await ask_all(ask_slowly(child, Drain(project)) for child in self.work.children)

    async def ask_project(self, project: str, request: RequestMessage[A]) -> A:
        """Return the answer of a data process, or of a draft's process, about its project.

        Raises:
            BbopsError: nothing is live, the process does not respond, or the request failed.
        """
        if self._is_draft(project):
            return await self.awake.ask(project, request, timeout_seconds=SHORT_SECONDS)
        return await self._data[0].ask(request, timeout_seconds=SHORT_SECONDS)

    async def refuse(self, diagnostics: Sequence[JsonDiagnostic], project: str = "") -> None:
        """Respond to every route of a project with diagnostics until its next `swap`."""
        async with self._publishing[project]:
            if project in self._draft_places():
                await self.awake.refuse(project, diagnostics)
                return
            shown = self._refusals[project] = list(diagnostics)
            await self._broadcast(refuse_request(project, shown))

    async def status(self) -> dict[str, Any]:
        """Return {"release", "replaced", "processes": [{"pid", "release", "in_flight"}]}.

        `release` is set for a single project, `replaced` is the number of data processes that died
        or were ended because they hung; `processes` are the responding ones.
        """
        requests = (child.ask(ReadStatus(), timeout_seconds=SHORT_SECONDS) for child in self._data)
        answers = await asyncio.gather(*requests, return_exceptions=True)
        names = [link.name for link in self._links.values()]
        return {
            "release": names[0] if len(names) == 1 else None,
            "replaced": sum(child.replaced for child in self._data),
            "processes": [
                asdict(answer) for answer in answers if isinstance(answer, ProcessStatus)
            ],
        }

    def _is_draft(self, project: str) -> bool:
        """Return whether it is a draft. Raises: ServerError: the name is not served."""
        if project in self._arrangement.places:
            return False
        if project in self._draft_places():
            return True
        raise ServerError(f"project '{project}' is no longer served")

    @property
    def senders(self) -> list[SendRequest]:
        """The `ask` function of each process with live releases."""
        return [child.ask for child in (*self._data, *self.work.children)]

    async def stop(self, grace_seconds: float) -> None:
        """Stop accepting, wait for running requests, and end every process."""
        drafts = self.awake.end_streams(grace_seconds / 2)
        data = (child.stop(grace_seconds) for child in self._data)
        await asyncio.gather(self.work.stop(grace_seconds), drafts, *data)
        await self.awake.stop(grace_seconds)
        await self._build.stop(min(grace_seconds, SHORT_SECONDS))
        if self._shared is not None:
            self._shared.close()
            self._shared = None
        for resource in (self._wake_up, self._woken, self._center):
            resource.close()

    async def _prepare(self, child: Child) -> None:
        """Bring a new process up to date before its first connection."""
        self._forward_reports(child)
        child.on_event(DraftWanted, self._wake_draft)
        await child.ask(self._arrangement.request(), timeout_seconds=SHORT_SECONDS)
        await child.ask(self._draft_request(), timeout_seconds=SHORT_SECONDS)
        for update in self.awake.updates():
            await child.ask(update, timeout_seconds=SHORT_SECONDS)
        for link in tuple(self._links.values()):
            await self._restore_release(child, link)
        for project, diagnostics in tuple(self._refusals.items()):
            await child.ask(refuse_request(project, diagnostics), timeout_seconds=SHORT_SECONDS)
        for project, until in tuple(self._held.items()):
            await hold(child.ask, project, until)
        if self.settings.mode == "dev":
            await child.ask(ReportRequests(), timeout_seconds=SHORT_SECONDS)
        if self._is_open:
            await child.ask(Listen(), timeout_seconds=LINK_SECONDS)

    async def _prepare_work(self, child: Child) -> None:
        """Bring a new work process up to date."""
        self._forward_reports(child)
        await child.ask(self._arrangement.request(), timeout_seconds=SHORT_SECONDS)
        if self.settings.mode == "dev":
            await child.ask(ReportRequests(), timeout_seconds=SHORT_SECONDS)
        for link in tuple(self._links.values()):
            if link.project in self.work.projects:
                await self._restore_release(child, link)
        for project, until in tuple(self._held.items()):
            await hold(child.ask, project, until)

    def _forward_reports(self, child: Child) -> None:
        for kind in REPORTED:
            child.on_event(kind, self._report)

    def _report(self, event: Any) -> None:
        self.on_report(event)

    def _wake_draft(self, event: DraftWanted) -> None:
        self.awake.record_use(event.name)
        self.wake(event.name)

    async def _restore_release(self, child: Child, link: Link) -> None:
        """Make a release live in a new process; a failure does not affect other projects."""
        try:
            await child.ask(link.request(), timeout_seconds=LINK_SECONDS)
            await child.ask(link.swap(), timeout_seconds=SHORT_SECONDS)
        except ChildGone:
            raise
        except BbopsError as error:
            if len(self._links) == 1:
                raise
            _log.error("project '%s' is not live in a new process: %s", link.project, error)


_DEFAULT: Final = WorkSettings()


@dataclass(frozen=True, slots=True)
class Arrangement:
    """The served projects, and the server's settings for requests.

    Attributes:
        places: addresses by project.
        proxies: proxies whose forwarded headers are trusted.
        egress: private hosts that functions may reach.
        receivers: private hosts that webhook receivers may have.
        work: the limits of jobs.
    """

    places: Mapping[str, ProjectPlace]
    proxies: tuple[str, ...] = ()
    egress: tuple[str, ...] = ()
    receivers: tuple[str, ...] = ()
    work: WorkSettings = _DEFAULT

    def request(self) -> ArrangeProjects:
        """Return the request that sends it to a data process."""
        return ArrangeProjects(
            dict(self.places), tuple(self.proxies), tuple(self.egress), tuple(self.receivers),
            self.work.concurrency, self.work.keep_seconds, PLAYGROUND_KEY.hex(),
        )  # fmt: skip
