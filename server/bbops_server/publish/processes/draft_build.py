"""The build process of drafts: unreviewed commits are built and migrated in it only.

Live projects have another build process, so a draft's files and tables never delay a publication.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from bbops.base.errors import BbopsError, ServerError
from bbops_server.process.children import Child, ChildGone
from bbops_server.process.forks.keeper import scrubbed_environment
from bbops_server.process.forks.limits import DRAFT_BUILD, DRAFT_BUILD_SECONDS
from bbops_server.process.host.system import lower_priority, memory_bytes
from bbops_server.process.messages.builds import (
    BuildRelease,
    CheckPush,
    ReadProjectFile,
    WriteContract,
    WriteOutline,
)
from bbops_server.process.messages.proposals import Propose
from bbops_server.process.messages.request import A, RequestMessage

IDLE_SECONDS: Final = 300.0
"""The time without a request after which the process ends."""
LARGE_BYTES: Final = DRAFT_BUILD.memory_bytes // 2
"""Resident memory; a larger process is replaced after its answer."""
START_SECONDS: Final = 60.0
MAX_BUILDS: Final = 256
"""Build requests to keep, one for each draft, to repeat them in a new process."""


_WORK: Final[Mapping[type[RequestMessage[Any]], str]] = {
    BuildRelease: "to be built", CheckPush: "to be checked", WriteContract: "to be described",
    WriteOutline: "to be described", ReadProjectFile: "to be read", Propose: "to be planned",
}  # fmt: skip


class DraftTooLong(ServerError):
    """A request of a draft exceeded the time limit."""


class DraftBuild:
    """A build process, started on demand; drafts use it one after the other.

    A request that exceeds its time is ended with the process. The draft's database is unchanged.
    """

    def __init__(self, seconds: float = DRAFT_BUILD_SECONDS) -> None:
        self._seconds = seconds
        self._lock = asyncio.Lock()
        self._child: Child | None = None
        self._scratch: Path | None = None
        self._idle_timer: asyncio.TimerHandle | None = None
        self._builds: dict[str, BuildRelease] = {}
        self._built_here: set[str] = set()
        self._is_stopped = False
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def pid(self) -> int | None:
        """The process id; None without a process."""
        return self._child.pid if self._child else None

    async def ask(self, request: RequestMessage[A], *, timeout_seconds: float) -> A:
        """Return the answer to a request, after all earlier requests.

        Raises:
            BbopsError: an error of the process, or it ended or does not start.
            DraftTooLong: the request took longer than DRAFT_BUILD_SECONDS.
        """
        seconds = min(timeout_seconds, self._seconds)
        async with self._lock:
            child = await self._warm()
            try:
                async with asyncio.timeout(seconds):
                    return await self._ask(child, request)
            except TimeoutError:
                await self._end()
                raise _too_long(request, seconds) from None
            except ChildGone:
                await self._end()
                raise _ended() from None
            except asyncio.CancelledError:
                child.kill()  # the next request must not wait for it
                self._forget(child)
                raise
            finally:
                await self._end_large()
                self._restart_idle_timer()

    async def _ask(self, child: Child, request: RequestMessage[A]) -> A:
        """Ask the process, after repeating the draft's build if another process made it."""
        state = getattr(request, "state", "")  # requests about a build have one
        if isinstance(request, BuildRelease):
            self._remember(str(Path(request.artifacts).parent), request)
        elif state in self._builds and state not in self._built_here:
            await self._ask(child, self._builds[state])
        return await child.ask(request, timeout_seconds=2 * self._seconds)  # `ask` has the timeout

    def _remember(self, state: str, build: BuildRelease) -> None:
        self._builds.pop(state, None)
        self._builds[state] = build
        self._built_here.add(state)
        while len(self._builds) > MAX_BUILDS:
            del self._builds[next(iter(self._builds))]

    def warm(self) -> None:
        """Start the process before the first draft needs it."""
        self._start_task(self._warm_in_turn())

    async def stop(self) -> None:
        """End the process, and start no new one."""
        self._is_stopped = True
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        for task in self._tasks:
            task.cancel()
        await self._end()

    async def _warm_in_turn(self) -> None:
        async with self._lock:
            with suppress(BbopsError):  # the next request reports it
                await self._warm()
            self._restart_idle_timer()

    async def _warm(self) -> Child:
        self._refuse_stopped()
        if self._child is None:
            self._scratch = self._scratch or Path(tempfile.mkdtemp(prefix="bbops-drafts-"))
            scratch = self._scratch
            env = scrubbed_environment() | {"TMPDIR": str(scratch), "SQLITE_TMPDIR": str(scratch)}
            child = await Child.start("bbops_server.publish.build", words=["drafts"], env=env)
            self._child = child
            child.on_exit(self._forget)
            if self._is_stopped:  # `stop` was called meanwhile, before this child was known
                await self._end()
                self._refuse_stopped()
            if await child.is_unresponsive(START_SECONDS):  # the imports do not count for the draft
                await self._end()
                raise ServerError(
                    f"the process that builds drafts has not started within {START_SECONDS:g} s",
                    hint="the machine may be overloaded: try again",
                )
            lower_priority(child.pid, DRAFT_BUILD.nice, session=DRAFT_BUILD.session_nice)
        return self._child

    def _refuse_stopped(self) -> None:
        if self._is_stopped:
            raise ServerError("the server is shutting down, and builds no drafts")

    async def _end(self) -> None:
        child = self._child
        if child is not None:
            child.kill()
            await child.wait()
            self._forget(child)

    async def _end_large(self) -> None:
        """End a process that has cached much, before it runs out of memory."""
        if self._child is not None and memory_bytes(self._child.pid) > LARGE_BYTES:
            await self._end()

    def _forget(self, child: Child) -> None:
        """Remove the scratch folder of an ended process."""
        if self._child is not child:
            return
        scratch, self._child, self._scratch = self._scratch, None, None
        self._built_here.clear()
        if scratch is not None:
            shutil.rmtree(scratch, ignore_errors=True)  # a few files

    def _restart_idle_timer(self) -> None:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        loop = asyncio.get_running_loop()
        self._idle_timer = loop.call_later(IDLE_SECONDS, lambda: self._start_task(self._end_idle()))

    async def _end_idle(self) -> None:
        async with self._lock:
            await self._end()

    def _start_task(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _ended() -> ServerError:
    return ServerError(
        "the process that builds drafts ended",
        hint="the draft may need more memory than there is: make it smaller",
    )


def _too_long(request: RequestMessage[Any], seconds: float) -> DraftTooLong:
    purpose = _WORK.get(type(request), "to change its tables")
    return DraftTooLong(
        f"the draft takes longer than {seconds:g} seconds {purpose}",
        hint="leave out files, columns, checks or seed rows",
    )
