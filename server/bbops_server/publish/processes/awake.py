"""The drafts that are awake, each in a process of its own, as the parent sees them.

A process that ends costs the requests that it was answering. The next request brings another one,
later each time; the draft of a commit that has lost three is told as failed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any, Final

from bbops.base.errors import BbopsError, ServerError
from bbops.base.render import plural
from bbops_server.data_plane.drafts.keys import Marks
from bbops_server.data_plane.drafts.usage import Usage, Used, read_folder_bytes, read_used
from bbops_server.data_plane.live.swap import format_mistakes
from bbops_server.process.children import Child
from bbops_server.process.forks.keeper import Zygotes
from bbops_server.process.forks.limits import (
    BACKOFF_SECONDS,
    CPU_WINDOW_SECONDS,
    DRAFT,
    DRAFT_FOLDER_BYTES,
    MAX_CRASHES,
    MAX_MEMORY_BYTES,
    UNRESPONSIVE_SECONDS,
)
from bbops_server.process.messages.drafts import (
    AdmitMembers,
    EndStreams,
    SignInToDraft,
    UpdateDraft,
)
from bbops_server.process.messages.forks import ForkDraft
from bbops_server.process.messages.request import A, RequestMessage
from bbops_server.publish.processes.draft_build import DraftBuild
from bbops_server.publish.processes.link import Link
from bbops_server.settings import WorkSettings

LINK_SECONDS: Final = 60.0
WORD_SECONDS: Final = 10.0
REST_SECONDS: Final = 5.0
"""How long what is under way may take when a draft falls asleep."""
LOOK_SECONDS: Final = 2.0
LEAST_AWAKE_SECONDS: Final = 30.0
"""A draft that was asked for since then makes no room for another one."""

_log = logging.getLogger(__name__)

Announce = Callable[[RequestMessage[Any]], Awaitable[None]]


@dataclass(slots=True)
class Awake:
    """One draft; `child` is None while it has no process, `link` before its first swap."""

    name: str
    child: Child | None = None
    socket: str = ""
    link: Link | None = None
    linked: Link | None = None
    refusal: bytes | None = None
    used_at: float = 0.0
    deaths: int = 0
    reason: str = ""
    usage: Usage = field(default_factory=Usage)
    reviving: asyncio.Task[None] | None = None
    looking: asyncio.Task[None] | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def told(self) -> UpdateDraft:
        """Return what data processes are told."""
        is_answering = self.child is not None and self.link is not None
        return UpdateDraft(
            self.name, self.socket if is_answering else "", self.refusal, self.is_busy
        )

    @property
    def is_busy(self) -> bool:
        """Whether it takes more than its share of the processor."""
        return self.usage.busy_since is not None


_ZYGOTE = "bbops_server.data_plane.draft_process.zygote"


class AwakeDrafts:
    """All of a server. What is asked of one goes to its process."""

    def __init__(self, announce: Announce, most: Callable[[], int]) -> None:
        """`announce` tells every data process, `most` is how many may be awake."""
        self._announce, self._most = announce, most
        self._zygotes = Zygotes(_ZYGOTE, nice=DRAFT.session_nice)
        self.build = DraftBuild()
        self._drafts: dict[str, Awake] = {}
        self._watching: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._is_stopped = False
        self.egress: tuple[str, ...] = ()
        self.concurrency = WorkSettings().concurrency
        self._members = AdmitMembers({})
        self.failed: Callable[[str, str], None] = lambda _, __: None
        """Hears of a draft whose process ended too often, and why."""

    # ---- what is known
    @property
    def pids(self) -> dict[str, int]:
        """The processes by the names of their drafts."""
        return {name: one.child.pid for name, one in self._drafts.items() if one.child is not None}

    @property
    def names(self) -> set[str]:
        """Every draft that something is known of."""
        return set(self._drafts)

    def find_link(self, name: str) -> Link | None:
        """Return the release of a draft that answers, also while its process is replaced."""
        one = self._drafts.get(name)
        return one.link if one else None

    def told(self) -> list[RequestMessage[Any]]:
        """Return what a new data process is told."""
        return [self._members, *(one.told() for one in self._drafts.values())]

    # ---- what happens to them
    async def admit(self, members: Marks) -> None:
        """Let these people into the drafts of each project. Raises: BbopsError: no answer."""
        self._members = AdmitMembers({name: list(marks) for name, marks in members.items()})
        await self._announce(self._members)

    def warm(self) -> None:
        """Start what is forked from, so that the first draft need not wait for that."""
        if self._zygotes.pid is None:
            self._do(self._zygotes.warm())
        self.build.warm()

    def use(self, name: str) -> None:
        """Take note that a draft was asked for; bring back its process, if that has ended."""
        one = self._drafts.get(name)
        if one is None:
            return
        one.used_at = monotonic()
        has_ended = one.child is None and one.refusal is None
        if has_ended and one.link and (one.reviving is None or one.reviving.done()):
            one.reviving = self._do(self._revive(one, one.link))

    async def link(self, link: Link) -> None:
        """Link a release in the draft's process, which is made if there is none.

        Raises:
            BbopsError: it cannot be linked, or too many drafts are awake.
        """
        one = self._drafts.setdefault(link.project, Awake(link.project))
        one.used_at = monotonic()
        async with one.lock:
            if one.linked is None or one.linked.artifact != link.artifact:
                one.deaths, one.reason = 0, ""
            one.linked = link
            child = await self._find_child(one, link)
            await child.ask(link.request(), timeout_seconds=LINK_SECONDS)

    async def swap(self, link: Link) -> None:
        """Let the linked release answer. Raises: BbopsError: the process has ended."""
        one = self._drafts[link.project]
        async with one.lock:
            child = await self._find_child(one, link)
            try:
                await child.ask(link.swap(), timeout_seconds=LINK_SECONDS)
            except ServerError:
                await self._go_on_with(child, link)
            one.link, one.refusal = link, None
        await self._announce(one.told())

    async def refuse(self, name: str, diagnostics: Sequence[Any]) -> None:
        """Answer with these instead of the draft: no process is needed for that."""
        one = self._drafts.setdefault(name, Awake(name))
        one.refusal = format_mistakes(diagnostics)
        await self._announce(one.told())

    async def ask(self, name: str, request: RequestMessage[A], *, timeout_seconds: float) -> A:
        """Return what a draft's process answers. Raises: BbopsError: it does not."""
        one = self._drafts.get(name)
        if one is None or one.link is None:
            raise ServerError("the draft is asleep", hint="send it a request first")
        one.used_at = monotonic()
        async with one.lock:
            if one.child is None:
                await self._go_on_with(await self._find_child(one, one.link), one.link)
                await self._announce(one.told())
            child = one.child
        assert child is not None  # noqa: S101 - it was just made
        return await child.ask(request, timeout_seconds=timeout_seconds)

    async def sign_in(self, request: SignInToDraft) -> str:
        """Return a token for one of a draft's users, an empty text where there is none.

        Raises:
            BbopsError: it is not responding, or this is no draft.
        """
        if "/~drafts/" not in request.project:
            raise ServerError("only drafts can sign in as a user")
        found = await self.ask(request.project, request, timeout_seconds=WORD_SECONDS)
        return found.token

    async def tell(self, request: RequestMessage[Any]) -> None:
        """Tell every process; one that has just ended needs to hear nothing."""
        for one in tuple(self._drafts.values()):
            if one.child is not None:
                with suppress(BbopsError):
                    await one.child.ask(request, timeout_seconds=LINK_SECONDS)

    async def end_streams(self, seconds: float) -> None:
        """Let answers of drafts that go on end after a time, each with an error as its last event.

        Drafts stop after the processes that pass their answers on, which wait for these.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.tell(EndStreams(seconds))

    async def forget(self, names: Iterable[str]) -> None:
        """End the processes of drafts that fall asleep or are gone."""
        gone = [self._drafts.pop(name) for name in tuple(names) if name in self._drafts]
        await asyncio.gather(*(self._rest(one) for one in gone))

    def go_on(self) -> None:
        """Start processes again, after `stop`."""
        self._is_stopped, self.build = False, DraftBuild()

    async def stop(self, grace_seconds: float) -> None:
        """End every process, and start no other."""
        self._is_stopped = True
        for task in (*self._tasks, *filter(None, [self._watching])):
            task.cancel()
        drafts, self._drafts = self._drafts, {}
        living = [one.child for one in drafts.values() if one.child is not None]
        await asyncio.gather(*(child.stop(min(grace_seconds, REST_SECONDS)) for child in living))
        await self.build.stop()
        await self._zygotes.stop()

    # ---- their processes
    async def _find_child(self, one: Awake, link: Link) -> Child:
        if one.child is None:
            await self._make_room()
            path = self._zygotes.make_path("draft")
            folder = link.history.parent
            wanted = ForkDraft(str(path), str(folder), tuple(self.egress), self.concurrency)
            child = await self._zygotes.fork(wanted)
            if self._is_stopped:  # meanwhile, and whoever did so did not see it
                await child.stop(REST_SECONDS)
                raise ServerError("the server is shutting down, and wakes no drafts")
            one.child, one.socket, one.usage, one.reason = child, str(path), Usage(), ""
            child.on_exit(lambda ended: self._take_death(one, ended, path))
            if self._watching is None or self._watching.done():
                self._watching = asyncio.create_task(self._watch())
        return one.child

    async def _go_on_with(self, child: Child, link: Link) -> None:
        await child.ask(link.request(), timeout_seconds=LINK_SECONDS)
        await child.ask(link.swap(), timeout_seconds=LINK_SECONDS)

    async def _make_room(self) -> None:
        """Let the draft sleep that was asked for the longest ago. Raises: ServerError: none may."""
        awake = [one for one in self._drafts.values() if one.child is not None]
        if len(awake) < self._most():
            return
        oldest = min(awake, key=lambda one: one.used_at)
        if monotonic() - oldest.used_at < LEAST_AWAKE_SECONDS:
            raise ServerError(
                f"only {plural(self._most(), 'draft')} can run at a time, and all are in use",
                hint="try again in a moment, or raise 'drafts: {awake: …}' in server.yaml",
            )
        await self._rest(oldest)

    async def _rest(self, one: Awake) -> None:
        """End a process in order; one that is asked for again gets another one."""
        child, one.child = one.child, None
        if one.reviving is not None:
            one.reviving.cancel()
        with suppress(BbopsError):
            await self._announce(UpdateDraft(one.name, is_busy=one.is_busy))
        if child is not None:
            await child.stop(REST_SECONDS)

    async def _revive(self, one: Awake, link: Link) -> None:
        await asyncio.sleep(BACKOFF_SECONDS[min(one.deaths, len(BACKOFF_SECONDS) - 1)])
        try:
            async with one.lock:
                if one.child is None and one.link is link:
                    await self._go_on_with(await self._find_child(one, link), link)
            await self._announce(one.told())
        except BbopsError as error:
            _log.error("draft '%s' cannot continue: %s", one.name, error)

    def _take_death(self, one: Awake, child: Child, path: Path) -> None:
        self._do(asyncio.to_thread(path.unlink, missing_ok=True))
        if one.child is not child:
            return  # it was told to end
        one.child = None
        one.deaths += 1
        reason = one.reason or "it ended by itself, or the system ended it for its memory"
        _log.warning("the process %d of draft '%s' ended: %s", child.pid, one.name, reason)
        if one.deaths >= MAX_CRASHES:
            self.failed(one.name, reason)
        elif one.name in self._drafts:
            self._do(self._announce(one.told()))

    # ---- what they use
    async def _watch(self) -> None:
        """Look at each process now and then, while there is one."""
        while any(one.child is not None for one in self._drafts.values()):
            await asyncio.sleep(LOOK_SECONDS)  # what other processes use, nobody tells
            for one in tuple(self._drafts.values()):
                if one.child is not None and (one.looking is None or one.looking.done()):
                    one.looking = self._do(self._look(one, one.child))

    async def _look(self, one: Awake, child: Child) -> None:
        """End a process that says nothing or takes too much; one that is idle is left alone."""
        was_busy, used = one.is_busy, read_used(child.pid)
        if used is not None:
            one.usage.take(used)
            is_asked = monotonic() - one.used_at < UNRESPONSIVE_SECONDS
            if one.usage.is_idle and not was_busy and not is_asked:
                return
            if used.memory_bytes > MAX_MEMORY_BYTES:
                self._end(one, child, f"it took {used.memory_bytes >> 20} MiB of memory")
                return
        since = one.usage.busy_since
        if (since is not None) != was_busy and one.child is child:
            await self._announce(one.told())
        if since is not None and used is not None and used.at - since > CPU_WINDOW_SECONDS:
            self._end(one, child, "it exceeded its CPU share, even without requests")
        elif await self._is_too_large(one):
            self._end(one, child, f"its files took more than {DRAFT_FOLDER_BYTES >> 20} MiB")
        elif await self._hangs(one, child, used):
            self._end(one, child, f"it did not answer for {UNRESPONSIVE_SECONDS:g} seconds")

    async def _hangs(self, one: Awake, child: Child, used: Used | None) -> bool:
        usage = one.usage
        usage.silent_since = usage.silent_since or used
        if not await child.is_unresponsive(UNRESPONSIVE_SECONDS):
            usage.silent_since = None
            return False
        used = read_used(child.pid)
        return used is None or usage.is_hanging(used)

    async def _is_too_large(self, one: Awake) -> bool:
        link = one.linked
        if link is None:
            return False
        size = await asyncio.to_thread(read_folder_bytes, link.history.parent)
        return size > DRAFT_FOLDER_BYTES

    def _end(self, one: Awake, child: Child, reason: str) -> None:
        if one.child is child and not one.reason:
            one.reason = reason
            child.kill()

    def _do(self, work: Any) -> asyncio.Task[Any]:
        task = asyncio.create_task(_quietly(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


async def _quietly(work: Awaitable[Any]) -> None:
    try:
        await work
    except BbopsError as error:
        _log.error("a draft could not be checked: %s", error)
