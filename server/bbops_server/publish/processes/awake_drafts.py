"""The drafts that are awake, each in its own process, as the parent sees them.

If a process ends, its running requests fail. The next request starts another process, after a
growing pause; a draft that has lost three processes with one commit is reported as failed.
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
SHORT_SECONDS: Final = 10.0
REST_SECONDS: Final = 5.0
"""The time that running requests have to finish when a draft is put to sleep."""
CHECK_SECONDS: Final = 2.0
MIN_AWAKE_SECONDS: Final = 30.0
"""A draft that was used more recently is not put to sleep for another one."""

_log = logging.getLogger(__name__)

Broadcast = Callable[[RequestMessage[Any]], Awaitable[None]]


@dataclass(slots=True)
class AwakeDraft:
    """A draft; `child` is empty without a process, and `link` before its first swap."""

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
    checking: asyncio.Task[None] | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def update(self) -> UpdateDraft:
        """Return the request that updates it in data processes."""
        is_answering = self.child is not None and self.link is not None
        return UpdateDraft(
            self.name, self.socket if is_answering else "", self.refusal, self.is_busy
        )

    @property
    def is_busy(self) -> bool:
        """Whether it uses more than its share of the processor."""
        return self.usage.busy_since is not None


_ZYGOTE = "bbops_server.data_plane.draft_process.zygote"


class AwakeDrafts:
    """All awake drafts of a server; requests to a draft go to its process."""

    def __init__(self, broadcast: Broadcast, limit: Callable[[], int]) -> None:
        """`broadcast` sends to every data process; `limit` returns the most drafts awake."""
        self._broadcast, self._limit = broadcast, limit
        self._zygotes = Zygotes(_ZYGOTE, nice=DRAFT.session_nice)
        self.build = DraftBuild()
        self._drafts: dict[str, AwakeDraft] = {}
        self._watching: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._is_stopped = False
        self.egress: tuple[str, ...] = ()
        self.concurrency = WorkSettings().concurrency
        self._members = AdmitMembers({})
        self.on_failure: Callable[[str, str], None] = lambda _, __: None
        """Called with a draft's name and the reason, if its process ended too often."""

    # ---- lookup
    @property
    def pids(self) -> dict[str, int]:
        """Process ids by the names of their drafts."""
        drafts = self._drafts.items()
        return {name: draft.child.pid for name, draft in drafts if draft.child is not None}

    @property
    def names(self) -> set[str]:
        """The names of all drafts with a state."""
        return set(self._drafts)

    def find_link(self, name: str) -> Link | None:
        """Return the live release of a draft, also while its process is replaced."""
        draft = self._drafts.get(name)
        return draft.link if draft else None

    def updates(self) -> list[RequestMessage[Any]]:
        """Return the requests that bring a new data process up to date."""
        return [self._members, *(draft.update() for draft in self._drafts.values())]

    # ---- changes
    async def admit(self, members: Marks) -> None:
        """Set the members who may open drafts. Raises: BbopsError: a process does not respond."""
        self._members = AdmitMembers({name: list(marks) for name, marks in members.items()})
        await self._broadcast(self._members)

    def warm(self) -> None:
        """Start the parent of draft processes and the build process before the first draft."""
        if self._zygotes.pid is None:
            self._start_task(self._zygotes.warm())
        self.build.warm()

    def record_use(self, name: str) -> None:
        """Record a request to a draft; restart its process if that has ended."""
        draft = self._drafts.get(name)
        if draft is None:
            return
        draft.used_at = monotonic()
        has_ended = draft.child is None and draft.refusal is None
        if has_ended and draft.link and (draft.reviving is None or draft.reviving.done()):
            draft.reviving = self._start_task(self._revive(draft, draft.link))

    async def link(self, link: Link) -> None:
        """Link a release in the draft's process, which is started if necessary.

        Raises:
            BbopsError: linking failed, or too many drafts are awake.
        """
        draft = self._drafts.setdefault(link.project, AwakeDraft(link.project))
        draft.used_at = monotonic()
        async with draft.lock:
            if draft.linked is None or draft.linked.artifact != link.artifact:
                draft.deaths, draft.reason = 0, ""
            draft.linked = link
            child = await self._ensure_child(draft, link)
            await child.ask(link.request(), timeout_seconds=LINK_SECONDS)

    async def swap(self, link: Link) -> None:
        """Make the linked release live. Raises: BbopsError: the process has ended."""
        draft = self._drafts[link.project]
        async with draft.lock:
            child = await self._ensure_child(draft, link)
            try:
                await child.ask(link.swap(), timeout_seconds=LINK_SECONDS)
            except ServerError:
                await self._restore_release(child, link)
            draft.link, draft.refusal = link, None
        await self._broadcast(draft.update())

    async def refuse(self, name: str, diagnostics: Sequence[Any]) -> None:
        """Respond with diagnostics instead of the draft, without a process."""
        draft = self._drafts.setdefault(name, AwakeDraft(name))
        draft.refusal = format_mistakes(diagnostics)
        await self._broadcast(draft.update())

    async def ask(self, name: str, request: RequestMessage[A], *, timeout_seconds: float) -> A:
        """Return the answer of a draft's process. Raises: BbopsError: it has none."""
        draft = self._drafts.get(name)
        if draft is None or draft.link is None:
            raise ServerError("the draft is asleep", hint="send it a request first")
        draft.used_at = monotonic()
        async with draft.lock:
            if draft.child is None:
                child = await self._ensure_child(draft, draft.link)
                await self._restore_release(child, draft.link)
                await self._broadcast(draft.update())
            running = draft.child
        assert running is not None  # noqa: S101 - it was just started
        return await running.ask(request, timeout_seconds=timeout_seconds)

    async def sign_in(self, request: SignInToDraft) -> str:
        """Return a token for one of a draft's users; empty if the user does not exist.

        Raises:
            BbopsError: the process does not respond, or the project is not a draft.
        """
        if "/~drafts/" not in request.project:
            raise ServerError("only drafts can sign in as a user")
        answer = await self.ask(request.project, request, timeout_seconds=SHORT_SECONDS)
        return answer.token

    async def send_all(self, request: RequestMessage[Any]) -> None:
        """Send a request to every draft's process; errors of ended processes are ignored."""
        for draft in tuple(self._drafts.values()):
            if draft.child is not None:
                with suppress(BbopsError):
                    await draft.child.ask(request, timeout_seconds=LINK_SECONDS)

    async def end_streams(self, seconds: float) -> None:
        """End streamed responses of drafts after a time, each with an error as its last event.

        Drafts stop after the data processes, which pass their responses on and wait for them.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.send_all(EndStreams(seconds))

    async def forget(self, names: Iterable[str]) -> None:
        """End the processes of drafts that are put to sleep or removed."""
        removed = [self._drafts.pop(name) for name in tuple(names) if name in self._drafts]
        await asyncio.gather(*map(self._put_to_sleep, removed))

    def resume(self) -> None:
        """Allow new processes again, after `stop`."""
        self._is_stopped, self.build = False, DraftBuild()

    async def stop(self, grace_seconds: float) -> None:
        """End every process, and start no new ones."""
        self._is_stopped = True
        for task in (*self._tasks, *filter(None, [self._watching])):
            task.cancel()
        drafts, self._drafts = self._drafts, {}
        living = [draft.child for draft in drafts.values() if draft.child is not None]
        await asyncio.gather(*(child.stop(min(grace_seconds, REST_SECONDS)) for child in living))
        await self.build.stop()
        await self._zygotes.stop()

    # ---- processes
    async def _ensure_child(self, draft: AwakeDraft, link: Link) -> Child:
        if draft.child is None:
            await self._make_room()
            path = self._zygotes.make_path("draft")
            folder = link.history.parent
            fork = ForkDraft(str(path), str(folder), tuple(self.egress), self.concurrency)
            child = await self._zygotes.fork(fork)
            if self._is_stopped:  # `stop` was called meanwhile, before this child was known
                await child.stop(REST_SECONDS)
                raise ServerError("the server is shutting down, and wakes no drafts")
            draft.child, draft.socket, draft.usage, draft.reason = child, str(path), Usage(), ""
            child.on_exit(lambda ended: self._handle_exit(draft, ended, path))
            if self._watching is None or self._watching.done():
                self._watching = asyncio.create_task(self._watch())
        return draft.child

    async def _restore_release(self, child: Child, link: Link) -> None:
        await child.ask(link.request(), timeout_seconds=LINK_SECONDS)
        await child.ask(link.swap(), timeout_seconds=LINK_SECONDS)

    async def _make_room(self) -> None:
        """Put the least recently used draft to sleep. Raises: ServerError: all are in use."""
        awake = [draft for draft in self._drafts.values() if draft.child is not None]
        if len(awake) < self._limit():
            return
        oldest = min(awake, key=lambda draft: draft.used_at)
        if monotonic() - oldest.used_at < MIN_AWAKE_SECONDS:
            raise ServerError(
                f"only {plural(self._limit(), 'draft')} can run at a time, and all are in use",
                hint="try again in a moment, or raise 'drafts: {awake: …}' in server.yaml",
            )
        await self._put_to_sleep(oldest)

    async def _put_to_sleep(self, draft: AwakeDraft) -> None:
        """Stop a draft's process gracefully; its next request starts another one."""
        child, draft.child = draft.child, None
        if draft.reviving is not None:
            draft.reviving.cancel()
        with suppress(BbopsError):
            await self._broadcast(UpdateDraft(draft.name, is_busy=draft.is_busy))
        if child is not None:
            await child.stop(REST_SECONDS)

    async def _revive(self, draft: AwakeDraft, link: Link) -> None:
        await asyncio.sleep(BACKOFF_SECONDS[min(draft.deaths, len(BACKOFF_SECONDS) - 1)])
        try:
            async with draft.lock:
                if draft.child is None and draft.link is link:
                    await self._restore_release(await self._ensure_child(draft, link), link)
            await self._broadcast(draft.update())
        except BbopsError as error:
            _log.error("draft '%s' cannot continue: %s", draft.name, error)

    def _handle_exit(self, draft: AwakeDraft, child: Child, path: Path) -> None:
        self._start_task(asyncio.to_thread(path.unlink, missing_ok=True))
        if draft.child is not child:
            return  # it was stopped on purpose
        draft.child = None
        draft.deaths += 1
        reason = draft.reason or "it crashed, or the system ended it for its memory"
        _log.warning("the process %d of draft '%s' ended: %s", child.pid, draft.name, reason)
        if draft.deaths >= MAX_CRASHES:
            self.on_failure(draft.name, reason)
        elif draft.name in self._drafts:
            self._start_task(self._broadcast(draft.update()))

    # ---- resource usage
    async def _watch(self) -> None:
        """Check each process regularly, as long as one is running."""
        while any(draft.child is not None for draft in self._drafts.values()):
            await asyncio.sleep(CHECK_SECONDS)  # the usage of other processes has to be polled
            for draft in tuple(self._drafts.values()):
                if draft.child is not None and (draft.checking is None or draft.checking.done()):
                    draft.checking = self._start_task(self._check(draft, draft.child))

    async def _check(self, draft: AwakeDraft, child: Child) -> None:
        """End a process that hangs or exceeds its limits; an idle process is not probed."""
        was_busy, used = draft.is_busy, read_used(child.pid)
        if used is not None:
            draft.usage.take(used)
            is_in_use = monotonic() - draft.used_at < UNRESPONSIVE_SECONDS
            if draft.usage.is_idle and not was_busy and not is_in_use:
                return
            if used.memory_bytes > MAX_MEMORY_BYTES:
                self._end(draft, child, f"it took {used.memory_bytes >> 20} MiB of memory")
                return
        since = draft.usage.busy_since
        if (since is not None) != was_busy and draft.child is child:
            await self._broadcast(draft.update())
        if since is not None and used is not None and used.at - since > CPU_WINDOW_SECONDS:
            self._end(draft, child, "it exceeded its CPU share, even without requests")
        elif await self._is_too_large(draft):
            self._end(draft, child, f"its files took more than {DRAFT_FOLDER_BYTES >> 20} MiB")
        elif await self._hangs(draft, child, used):
            self._end(draft, child, f"it did not answer for {UNRESPONSIVE_SECONDS:g} seconds")

    async def _hangs(self, draft: AwakeDraft, child: Child, used: Used | None) -> bool:
        usage = draft.usage
        usage.silent_since = usage.silent_since or used
        if not await child.is_unresponsive(UNRESPONSIVE_SECONDS):
            usage.silent_since = None
            return False
        used = read_used(child.pid)
        return used is None or usage.is_hanging(used)

    async def _is_too_large(self, draft: AwakeDraft) -> bool:
        link = draft.linked
        if link is None:
            return False
        size = await asyncio.to_thread(read_folder_bytes, link.history.parent)
        return size > DRAFT_FOLDER_BYTES

    def _end(self, draft: AwakeDraft, child: Child, reason: str) -> None:
        if draft.child is child and not draft.reason:
            draft.reason = reason
            child.kill()

    def _start_task(self, work: Any) -> asyncio.Task[Any]:
        task = asyncio.create_task(_log_errors(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


async def _log_errors(work: Awaitable[Any]) -> None:
    try:
        await work
    except BbopsError as error:
        _log.error("a draft could not be checked: %s", error)
