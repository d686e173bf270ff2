"""The build process of drafts: what nobody has reviewed is built and migrated there alone.

What is live has another one, so a draft delays no publication, whatever its files and tables do.
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
from bbops_server.process.host.memory import memory_bytes
from bbops_server.process.host.niceness import lower_priority
from bbops_server.process.messages.builds import BuildRelease, CheckPush, WriteContract
from bbops_server.process.messages.request import A, RequestMessage

IDLE_SECONDS: Final = 300.0
"""It ends when nothing was asked for so long."""
LARGE_BYTES: Final = DRAFT_BUILD.memory_bytes // 2
"""Resident: the process is replaced once it has answered."""
START_SECONDS: Final = 60.0
MOST_BUILDS: Final = 256
"""Requests that are kept, one for each draft, in case the process ends before its tables change."""


_WORK: Final[Mapping[type[RequestMessage[Any]], str]] = {
    BuildRelease: "to be built", CheckPush: "to be checked", WriteContract: "to be described",
}  # fmt: skip


class DraftTooLong(ServerError):
    """What a draft asks for does not end in time."""


class DraftBuild:
    """One process, made when it is asked; drafts take turns, so that none pays for another.

    What takes too long is ended with its process. Its database stays as it was.
    """

    def __init__(self, seconds: float = DRAFT_BUILD_SECONDS) -> None:
        self._seconds = seconds
        self._turn = asyncio.Lock()
        self._child: Child | None = None
        self._scratch: Path | None = None
        self._resting: asyncio.TimerHandle | None = None
        self._builds: dict[str, BuildRelease] = {}
        self._here: set[str] = set()
        self._is_stopped = False
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def pid(self) -> int | None:
        """The process id, None while there is none."""
        return self._child.pid if self._child else None

    async def ask(self, request: RequestMessage[A], *, timeout_seconds: float) -> A:
        """Return the answer to a request, when those before it have theirs.

        Raises:
            BbopsError: the process's own error; it ended, or does not start.
            DraftTooLong: it took longer than DRAFT_BUILD_SECONDS.
        """
        seconds = min(timeout_seconds, self._seconds)
        async with self._turn:
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
                child.kill()  # whoever comes next must not wait for it
                self._forget(child)
                raise
            finally:
                await self._end_large()
                self._rest_later()

    async def _ask(self, child: Child, request: RequestMessage[A]) -> A:
        """Ask, and before that for the build that it is about, where another process made it."""
        state = getattr(request, "state", "")  # those about a build have one
        if isinstance(request, BuildRelease):
            self._remember(str(Path(request.artifacts).parent), request)
        elif state in self._builds and state not in self._here:
            await self._ask(child, self._builds[state])
        return await child.ask(request, timeout_seconds=2 * self._seconds)  # the caller counts

    def _remember(self, state: str, build: BuildRelease) -> None:
        self._builds.pop(state, None)
        self._builds[state] = build
        self._here.add(state)
        while len(self._builds) > MOST_BUILDS:
            del self._builds[next(iter(self._builds))]

    def warm(self) -> None:
        """Start the process, so that the first draft need not wait for that."""
        self._do(self._warm_in_turn())

    async def stop(self) -> None:
        """End the process, whatever it is at, and start no other."""
        self._is_stopped = True
        if self._resting is not None:
            self._resting.cancel()
        for task in self._tasks:
            task.cancel()
        await self._end()

    async def _warm_in_turn(self) -> None:
        async with self._turn:
            with suppress(BbopsError):  # whoever asks is told
                await self._warm()
            self._rest_later()

    async def _warm(self) -> Child:
        self._refuse_stopped()
        if self._child is None:
            self._scratch = self._scratch or Path(tempfile.mkdtemp(prefix="bbops-drafts-"))
            scratch = self._scratch
            env = scrubbed_environment() | {"TMPDIR": str(scratch), "SQLITE_TMPDIR": str(scratch)}
            child = await Child.start("bbops_server.publish.build", words=["drafts"], env=env)
            self._child = child
            child.on_exit(self._forget)
            if self._is_stopped:  # meanwhile, and whoever did so saw no process
                await self._end()
                self._refuse_stopped()
            if await child.is_unresponsive(START_SECONDS):  # importing is not the draft's
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
        """End a process that holds much of what it has built, before it has no memory left."""
        if self._child is not None and memory_bytes(self._child.pid) > LARGE_BYTES:
            await self._end()

    def _forget(self, child: Child) -> None:
        """It has ended, with whatever it was at: what lies in its folder is of no use."""
        if self._child is not child:
            return
        scratch, self._child, self._scratch = self._scratch, None, None
        self._here.clear()
        if scratch is not None:
            shutil.rmtree(scratch, ignore_errors=True)  # a few files

    def _rest_later(self) -> None:
        if self._resting is not None:
            self._resting.cancel()
        loop = asyncio.get_running_loop()
        self._resting = loop.call_later(IDLE_SECONDS, lambda: self._do(self._rest()))

    async def _rest(self) -> None:
        async with self._turn:
            await self._end()

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _ended() -> ServerError:
    return ServerError(
        "the process that builds drafts ended",
        hint="the draft may need more memory than there is: make it smaller",
    )


def _too_long(request: RequestMessage[Any], seconds: float) -> DraftTooLong:
    what = _WORK.get(type(request), "to change its tables")
    return DraftTooLong(
        f"the draft takes longer than {seconds:g} seconds {what}",
        hint="leave out files, columns, checks or seed rows",
    )
