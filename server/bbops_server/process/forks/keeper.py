"""The parent's side of a zygote: start it before the first fork, and supervise the forks."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import tempfile
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from bbops.base.errors import BbopsError, ServerError
from bbops_server.process.children import Child
from bbops_server.process.host.system import lower_priority
from bbops_server.process.messages.channel import ProcessChannel
from bbops_server.process.messages.forks import Ended, ForkDraft, ForkTestRun, Kill
from bbops_server.process.messages.lifecycle import Ping

ForkRequest: TypeAlias = ForkDraft | ForkTestRun

FORK_SECONDS: Final = 30.0
"""The timeout for the zygote's imports, and for a fork."""

_NICENESS: Final = 10
"""The niceness of the zygote. Forked processes set a higher niceness."""
_MAX_SOCKET_PATH: Final = 100
"""The longest path of a socket in bytes; systems allow 104 and 108."""
_KEPT_VARIABLES: Final = frozenset({
    "PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "PYTHONPATH", "PYTHONHOME",
    "PYTHONDONTWRITEBYTECODE", "PYTHONFAULTHANDLER", "PYTHONUTF8", "VIRTUAL_ENV",
    "LD_LIBRARY_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "NO_COLOR",
})  # fmt: skip
"""The environment variables that a forked process gets."""


def scrubbed_environment() -> dict[str, str]:
    """Return the environment for processes with unreviewed code: no values and no keys."""
    return {name: text for name, text in os.environ.items() if name in _KEPT_VARIABLES}


class Zygotes:
    """Forks processes of one module. The zygote is replaced when it has ended."""

    def __init__(self, module: str, *, nice: int) -> None:
        """Create a supervisor without a zygote.

        Args:
            module: a module that calls `bbops_server.process.forks.zygote.serve`.
            nice: the niceness of the session of all forks.
        """
        self._module, self._nice = module, nice
        self._child: Child | None = None
        self._numbers = count(1)
        self._folder: Path | None = None
        self._forks: dict[int, Fork] = {}
        self._ended: dict[int, int] = {}
        self._lock = asyncio.Lock()

    @property
    def pid(self) -> int | None:
        """The zygote's process id, None if it is not running."""
        return self._child.pid if self._child else None

    def make_path(self, ending: str) -> Path:
        """Return a path for a socket that only this user can connect to."""
        if self._folder is None:
            self._folder = make_socket_folder()
        return self._folder / f"{next(self._numbers)}.{ending}"

    async def warm(self) -> None:
        """Start the zygote if it is not running. Raises: ServerError: it does not start."""
        async with self._lock:
            await self._warm()

    async def fork(self, request: ForkRequest) -> Child:
        """Return a new process for a request, which connects to a control socket.

        Raises:
            ServerError: the process does not start.
        """
        async with self._lock:
            zygote = await self._warm()
            path = self.make_path("control")
            with socket.socket(socket.AF_UNIX) as listening:
                listening.bind(str(path))
                listening.listen(1)
                listening.setblocking(False)  # noqa: FBT003 - its signature
                try:
                    placed = msgspec.structs.replace(request, control=str(path))
                    return await self._fork(zygote, listening, placed)
                finally:
                    path.unlink(missing_ok=True)

    async def _fork(self, zygote: Child, listening: socket.socket, request: ForkRequest) -> Child:
        try:
            pid = (await zygote.ask(request, timeout_seconds=FORK_SECONDS)).pid
        except BbopsError:
            zygote.kill()
            raise
        fork = self._forks[pid] = Fork(pid, zygote)
        if pid in self._ended:
            fork.end(self._ended.pop(pid))
        try:
            async with asyncio.timeout(FORK_SECONDS):
                theirs, _ = await asyncio.get_running_loop().sock_accept(listening)
        except TimeoutError:
            fork.kill()
            raise ServerError("a forked process does not respond") from None
        return Child(self._module, fork, await ProcessChannel.open(theirs))

    async def stop(self) -> None:
        """Stop the zygote, and with it all forks."""
        async with self._lock:
            if self._child is not None:
                await self._child.leave()
                self._child = None
            if self._folder is not None:
                await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)
                self._folder = None

    async def _warm(self) -> Child:
        if self._child is None:
            child = self._child = await Child.start(self._module, env=scrubbed_environment())
            child.on_event(Ended, self._handle_end)
            child.on_exit(self._handle_exit)
            try:
                await child.ask(Ping(), timeout_seconds=FORK_SECONDS)
            except BbopsError:
                child.kill()
                raise
            # only now: the imports are trusted code, and a request waits for them
            lower_priority(child.pid, _NICENESS, session=self._nice)
        return self._child

    def _handle_end(self, event: Ended) -> None:
        fork = self._forks.pop(event.pid, None)
        if fork is None:
            self._ended[event.pid] = event.status  # it ended before the answer to the fork arrived
        else:
            fork.end(event.status)

    def _handle_exit(self, child: Child) -> None:
        """End the forks of a zygote that has ended."""
        if self._child is child:
            self._child = None
        for fork in [fork for fork in self._forks.values() if fork.zygote is child]:
            self._forks.pop(fork.pid)
            fork.end(-9)


class Fork:
    """A forked process, whose parent is the zygote."""

    def __init__(self, pid: int, zygote: Child) -> None:
        self.pid, self.zygote = pid, zygote
        self._ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._killing: asyncio.Task[None] | None = None

    def kill(self) -> None:
        """Kill the process with all processes that it has started."""
        if self._killing is None and not self._ended.done():
            self._killing = asyncio.create_task(self._kill())

    def end(self, status: int) -> None:
        """Record the end of the process."""
        if not self._ended.done():
            self._ended.set_result(status)

    async def wait(self) -> int:
        """Wait for the end of the process, and return its exit status; a signal is negative."""
        return await asyncio.shield(self._ended)

    async def _kill(self) -> None:
        try:
            await self.zygote.ask(Kill(self.pid), timeout_seconds=FORK_SECONDS)
        except BbopsError:
            self.zygote.kill()  # its forks end with it


def make_socket_folder() -> Path:
    """Return a new folder that only this user can open, with a path short enough for sockets."""
    folder = Path(tempfile.mkdtemp(prefix="bbops-"))
    if len(os.fsencode(folder)) + len("/100000.control") <= _MAX_SOCKET_PATH:
        return folder
    with suppress(OSError):
        folder.rmdir()
    return Path(tempfile.mkdtemp(prefix="bbops-", dir="/tmp"))
