"""The parent's side of the data plane: publish a project's release to every process, or refuse."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from msgspec.structs import asdict

from bbops.base.errors import BbopsError, ServerError
from bbops.base.json_diagnostics import JsonDiagnostic
from bbops_server.data_plane.live.bell import make_bell
from bbops_server.data_plane.live.shared import Shared
from bbops_server.process.children import Child, ChildGone, SupervisedChild
from bbops_server.process.messages.drafts import (
    AllowEgress,
    ArrangeDrafts,
    DraftPlace,
    DraftWanted,
    UpdateDraft,
)
from bbops_server.process.messages.lifecycle import Leave, Listen, ProcessStatus, ReadStatus
from bbops_server.process.messages.projects import EVERYWHERE, Drain, Resume
from bbops_server.process.messages.reports import REPORTED, Reported, ReportRequests
from bbops_server.process.messages.request import A, RequestMessage
from bbops_server.publish.processes.arrangement import Arrangement
from bbops_server.publish.processes.awake import AwakeDrafts
from bbops_server.publish.processes.center import CenterSocket
from bbops_server.publish.processes.link import Link
from bbops_server.publish.processes.requests import (
    LINK_SECONDS,
    WORD_SECONDS,
    Ask,
    ask_all,
    hold,
    refusal,
    start_build,
    start_data,
    swap,
    tell,
)
from bbops_server.publish.processes.work import WorkChild
from bbops_server.settings import Settings

HOLD_SECONDS = 10.0
"""How long a project's requests wait at most while its names and types change."""

DRAFT_MOVES = b'{"error":{"code":"draftSleeps","message":"another server takes over; ask again"}}'
"""What is answered for a draft between two servers."""

_log = logging.getLogger(__name__)


class Plane:
    """The build process and the data processes; one that dies is replaced and brought up to date.

    `settings` are those in force: a port of 0 has become the one that was found. `wake` is called
    when a draft was asked for, `answered` with each request and job of `bbops dev`. `opened` is set
    once the control plane can be reached, too.

    A server that takes over from another one is ready before it may change anything: `owned` is set
    once the state folder is its own, `alone` once nothing of the other one answers any more, so
    that what is live may change.
    """

    def __init__(self, settings: Settings, listening: socket.socket) -> None:
        """`listening` is inherited by the data processes; nothing is started yet."""
        self.settings = settings
        self.opened, self.owned, self.alone = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._is_open = False
        self.keeps_drafts = False
        """Whether drafts stay known though nothing follows them: between two servers."""
        self.wake: Callable[[str], None] = lambda _: None
        self.answered: Callable[[Reported], None] = lambda _: None
        self._arrangement = Arrangement({"": EVERYWHERE})
        self._drafts: dict[str, Mapping[str, DraftPlace]] = {}
        self._links: dict[str, Link] = {}
        self._refusals: dict[str, list[JsonDiagnostic]] = {}
        self._held: dict[str, float] = {}
        self._publishing: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._build = SupervisedChild(start_build, skips_pings_when_busy=True)

        self._shared = Shared(settings.workers) if settings.workers > 1 else None
        self._bell, self._hearing = make_bell()
        self._center = CenterSocket()
        starts = [
            partial(start_data, listening, self._bell, self._center.path, self._shared, n)
            for n in range(settings.workers)
        ]
        self._data = [SupervisedChild(start, self._prepare) for start in starts]
        self.work = WorkChild((self._hearing, self._center.listening), self._prepare_work)
        self.awake = AwakeDrafts(self._tell_all, lambda: self.settings.drafts.awake)

    @property
    def build(self) -> SupervisedChild:
        """The build process: always a living one."""
        return self._build

    async def start(self) -> None:
        """Start every process; the data processes accept nothing before `listen`.

        Raises:
            BbopsError: one of them does not start; none is left behind.
        """
        try:
            await ask_all(child.start() for child in (self._build, *self._data))
        except BbopsError:
            await self.stop(0)
            raise

    async def own(self) -> None:
        """Change things from now on: the state folder is this server's. Raises as `start`."""
        self.owned.set()
        await self.work.allow()

    async def listen(self) -> None:
        """Accept connections from now on; a project without a release is answered 503.

        Raises:
            BbopsError: a process does not answer.
        """
        self._is_open = True
        await self._tell_all(Listen())

    async def give_up(self) -> None:
        """End what one server alone may have: the work process, the build process, drafts.

        What is live is answered as before.
        """
        self.wake = lambda _: None
        await self.work.stop(WORD_SECONDS / 2)
        await self._build.stop(WORD_SECONDS)
        for draft in self._draft_places():
            await self._tell_all(UpdateDraft(draft, refusal=DRAFT_MOVES))
        await self.awake.stop(WORD_SECONDS)

    async def take_back(self) -> None:
        """Start the build process anew, after `give_up`. Raises as `start`."""
        self._build = SupervisedChild(start_build, skips_pings_when_busy=True)
        self.awake.go_on()
        await self._build.start()
        await self.own()

    async def leave(self, seconds: float) -> None:
        """Accept no more; return once every connection has ended with an answer, or is late."""
        leaving, late = Leave(seconds), seconds + WORD_SECONDS
        asked = (child.ask(leaving, timeout_seconds=late) for child in self._data)
        await asyncio.gather(*asked, return_exceptions=True)

    async def arrange(self, arrangement: Arrangement) -> None:
        """Let these projects answer from now on, and no others.

        Raises:
            BbopsError: a process does not answer; it is arranged so when it does.
        """
        self._arrangement = arrangement
        await self._forget(set())
        self.awake.egress, self.awake.concurrency = arrangement.egress, arrangement.work.concurrency
        await self._tell_all(arrangement.request())
        await ask_all(tell(child, arrangement.request()) for child in self.work.asking)
        await self.awake.tell(AllowEgress(tuple(arrangement.egress)))

    async def arrange_drafts(self, project: str, drafts: Mapping[str, DraftPlace]) -> None:
        """Let these drafts of a project answer, and no others. Raises as `arrange`."""
        if self.keeps_drafts:
            return
        self._drafts[project] = dict(drafts)
        await self._tell_all(self._draft_request())
        await self._forget(set())
        if drafts:
            self.awake.warm()

    async def rest(self, draft: str) -> None:
        """Let a draft sleep until it is asked for again. Raises as `arrange`."""
        await self._forget({draft})

    def _draft_places(self) -> dict[str, DraftPlace]:
        return {name: one for drafts in self._drafts.values() for name, one in drafts.items()}

    def _draft_request(self) -> ArrangeDrafts:
        return ArrangeDrafts(self._draft_places(), self.settings.drafts.hosts)

    async def _tell_all(self, request: RequestMessage[Any]) -> None:
        await ask_all(tell(child, request) for child in self._data)

    async def _forget(self, resting: AbstractSet[str]) -> None:
        """Forget what was live of projects and drafts that do not answer, or rest."""
        drafts = self._draft_places().keys()
        answering = self._arrangement.places.keys() | drafts
        for kept in (self._links, self._refusals, self._publishing):
            for name in kept.keys() - (answering - resting):
                del kept[name]
        self.work.projects &= answering
        await self.awake.forget(self.awake.names - (drafts - resting))

    @property
    def is_of_one(self) -> bool:
        """Whether one project answers, and no other."""
        return len(self._arrangement.places) == 1

    def is_live(self, project: str) -> bool:
        """Return whether a release of a project answers."""
        return self._find_link(project) is not None

    def find_live(self, project: str) -> str:
        """Return the digest of the release of a project that answers; empty without one."""
        link = self._find_link(project)
        return link.artifact.name if link else ""

    def _find_link(self, project: str) -> Link | None:
        return self._links.get(project) or self.awake.find_link(project)

    async def link(self, link: Link) -> None:
        """Link a release in every data process, beside the one that is live.

        Raises:
            BbopsError: a process cannot link it.
        """
        async with self._publishing[link.project]:
            if self._is_draft(link.project):
                await self.awake.link(link)
                return
            linked = await ask_all(tell(child, link.request()) for child in self._data)
            if link.project in self.work.projects or any(one.has_work for one in linked):
                await self.work.link(link)

    async def swap(self, link: Link) -> None:
        """Let the linked release answer in every data process; returns when it is live.

        Raises:
            BbopsError: a process does not answer; one that is new links and swaps by itself.
        """
        async with self._publishing[link.project]:
            if self._is_draft(link.project):
                await self.awake.swap(link)
                return
            # from here on, a process that takes the place of a dead one begins with this release
            self._links[link.project] = link
            self._refusals.pop(link.project, None)
            await ask_all(swap(child, link) for child in self._data)
            await self.work.swap(link)

    @asynccontextmanager
    async def held(self, project: str) -> AsyncIterator[float]:
        """Let a project's new requests wait while the block runs, and those under way end.

        Yields:
            Until when they wait, on the loop's clock; then they go on by themselves.

        Raises:
            BbopsError: a process does not answer; in all of them requests go on.
        """
        until, drafts = asyncio.get_running_loop().time() + HOLD_SECONDS, self._draft_places()
        asking: list[Ask] = (
            [partial(self.awake.ask, project)] if project in drafts else self.askings
        )
        if project not in drafts:
            self._held[project] = until
        try:
            await ask_all(hold(ask, project, until) for ask in asking)
            yield until
        finally:
            self._held.pop(project, None)
            asked = (ask(Resume(project), timeout_seconds=WORD_SECONDS) for ask in asking)
            await asyncio.gather(*asked, return_exceptions=True)

    async def drain(self, project: str) -> None:
        """Return once no release before the live one answers a request, or they are late.

        Raises:
            BbopsError: a process does not answer.
        """
        if self._is_draft(project):
            await self.awake.ask(project, Drain(project), timeout_seconds=LINK_SECONDS)
        else:
            await self._tell_all(Drain(project))
            await ask_all(tell(child, Drain(project)) for child in self.work.asking)

    async def ask_project(self, project: str, request: RequestMessage[A]) -> A:
        """Return what a data process, or that of a draft, answers about its project.

        Raises:
            BbopsError: it is not responding, nothing is live, or what is asked cannot be done.
        """
        if self._is_draft(project):
            return await self.awake.ask(project, request, timeout_seconds=WORD_SECONDS)
        return await self._data[0].ask(request, timeout_seconds=WORD_SECONDS)

    async def refuse(self, diagnostics: Sequence[JsonDiagnostic], project: str = "") -> None:
        """Answer every route of a project with these until its next `swap`; for `dev`."""
        async with self._publishing[project]:
            if project in self._draft_places():
                await self.awake.refuse(project, diagnostics)
                return
            told = self._refusals[project] = list(diagnostics)
            await self._tell_all(refusal(project, told))

    async def status(self) -> dict[str, Any]:
        """Return {"release", "replaced", "processes": [{"pid", "release", "in_flight"}]}.

        `release` is that of the only project, `replaced` how many data processes died or were
        ended because they hung; `processes` are those that answer.
        """
        asked = (child.ask(ReadStatus(), timeout_seconds=WORD_SECONDS) for child in self._data)
        answers = await asyncio.gather(*asked, return_exceptions=True)
        names = [link.name for link in self._links.values()]
        return {
            "release": names[0] if len(names) == 1 else None,
            "replaced": sum(child.replaced for child in self._data),
            "processes": [asdict(one) for one in answers if isinstance(one, ProcessStatus)],
        }

    def _is_draft(self, project: str) -> bool:
        """Return whether it is a draft. Raises: ServerError: nothing of that name is served."""
        if project in self._arrangement.places:
            return False
        if project in self._draft_places():
            return True
        raise ServerError(f"project '{project}' is no longer served")

    @property
    def askings(self) -> list[Ask]:
        """What asks each process that has live releases."""
        return [child.ask for child in (*self._data, *self.work.asking)]

    async def stop(self, grace_seconds: float) -> None:
        """Stop accepting, wait for requests under way, end every process."""
        drafts = self.awake.end_streams(grace_seconds / 2)
        data = (child.stop(grace_seconds) for child in self._data)
        await asyncio.gather(self.work.stop(grace_seconds), drafts, *data)
        await self.awake.stop(grace_seconds)
        await self._build.stop(min(grace_seconds, WORD_SECONDS))
        if self._shared is not None:
            self._shared.close()
            self._shared = None
        for one in (self._bell, self._hearing, self._center):
            one.close()

    async def _prepare(self, child: Child) -> None:
        """Bring a new process up to date before it takes its first connection."""
        self._hear(child)
        child.on_event(DraftWanted, self._wake_draft)
        await child.ask(self._arrangement.request(), timeout_seconds=WORD_SECONDS)
        await child.ask(self._draft_request(), timeout_seconds=WORD_SECONDS)
        for told in self.awake.told():
            await child.ask(told, timeout_seconds=WORD_SECONDS)
        for link in tuple(self._links.values()):
            await self._begin_with(child, link)
        for project, diagnostics in tuple(self._refusals.items()):
            await child.ask(refusal(project, diagnostics), timeout_seconds=WORD_SECONDS)
        for project, until in tuple(self._held.items()):
            await hold(child.ask, project, until)
        if self.settings.mode == "dev":
            await child.ask(ReportRequests(), timeout_seconds=WORD_SECONDS)
        if self._is_open:
            await child.ask(Listen(), timeout_seconds=LINK_SECONDS)

    async def _prepare_work(self, child: Child) -> None:
        """Bring a new work process up to date."""
        self._hear(child)
        await child.ask(self._arrangement.request(), timeout_seconds=WORD_SECONDS)
        if self.settings.mode == "dev":
            await child.ask(ReportRequests(), timeout_seconds=WORD_SECONDS)
        for link in tuple(self._links.values()):
            if link.project in self.work.projects:
                await self._begin_with(child, link)
        for project, until in tuple(self._held.items()):
            await hold(child.ask, project, until)

    def _hear(self, child: Child) -> None:
        for kind in REPORTED:
            child.on_event(kind, self._report)

    def _report(self, event: Any) -> None:
        self.answered(event)

    def _wake_draft(self, event: DraftWanted) -> None:
        self.awake.use(event.name)
        self.wake(event.name)

    async def _begin_with(self, child: Child, link: Link) -> None:
        """Make a release live in a new process; one that fails must not keep the others away."""
        try:
            await child.ask(link.request(), timeout_seconds=LINK_SECONDS)
            await child.ask(link.swap(), timeout_seconds=WORD_SECONDS)
        except ChildGone:
            raise
        except BbopsError as error:
            if len(self._links) == 1:
                raise
            _log.error("project '%s' is not live in a new process: %s", link.project, error)
