"""The parent's side of a zygote: start it when something is to be forked, and end what was."""

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
from bbops_server.process.host.niceness import stand_back
from bbops_server.process.messages.channel import ProcessChannel
from bbops_server.process.messages.forks import Ended, ForkDraft, ForkTestRun, Kill
from bbops_server.process.messages.lifecycle import Ping

ForkRequest: TypeAlias = ForkDraft | ForkTestRun

FORK_SECONDS: Final = 30.0
"""For the zygote to import, and to fork."""

_NICENESS: Final = 10
"""Of the zygote: what it forks stands further back by itself."""
_LONGEST_SOCKET: Final = 100
"""Bytes in the path of a socket; systems allow 104 and 108."""
_KEPT_VARIABLES: Final = frozenset({
    "PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "PYTHONPATH", "PYTHONHOME",
    "PYTHONDONTWRITEBYTECODE", "PYTHONFAULTHANDLER", "PYTHONUTF8", "VIRTUAL_ENV",
    "LD_LIBRARY_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "NO_COLOR",
})  # fmt: skip
"""All that a forked process sees of the server's environment."""


def scrubbed_environment() -> dict[str, str]:
    """Return what a process sees of the server's environment that works for what nobody reviewed.

    No value, and no key.
    """
    return {name: text for name, text in os.environ.items() if name in _KEPT_VARIABLES}


class Zygotes:
    """Forks processes of one module; the zygote is replaced when it has ended."""

    def __init__(self, module: str, *, nice: int) -> None:
        """Start nothing yet.

        Args:
            module: it serves as `bbops_server.process.forks.zygote` says.
            nice: of all that is forked together, against the rest of the machine.
        """
        self._module, self._nice = module, nice
        self._child: Child | None = None
        self._numbers = count(1)
        self._folder: Path | None = None
        self._forks: dict[int, Fork] = {}
        self._ended: dict[int, int] = {}
        self._one_at_a_time = asyncio.Lock()

    @property
    def pid(self) -> int | None:
        """The zygote's process id, None while there is none."""
        return self._child.pid if self._child else None

    def make_path(self, ending: str) -> Path:
        """Return a path for a socket that only this user reaches."""
        if self._folder is None:
            self._folder = make_socket_folder()
        return self._folder / f"{next(self._numbers)}.{ending}"

    async def warm(self) -> None:
        """Start the zygote, if there is none. Raises: ServerError: it does not start."""
        async with self._one_at_a_time:
            await self._warm()

    async def fork(self, request: ForkRequest) -> Child:
        """Return a new process for a request, which is told where it finds us.

        Raises:
            ServerError: it does not start.
        """
        async with self._one_at_a_time:
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
        """End the zygote, and with it what was forked."""
        async with self._one_at_a_time:
            if self._child is not None:
                await self._child.leave()
                self._child = None
            if self._folder is not None:
                await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)
                self._folder = None

    async def _warm(self) -> Child:
        if self._child is None:
            child = self._child = await Child.start(self._module, env=scrubbed_environment())
            child.on_event(Ended, self._take_end)
            child.on_exit(self._forget)
            try:
                await child.ask(Ping(), timeout_seconds=FORK_SECONDS)
            except BbopsError:
                child.kill()
                raise
            # not before: what it imports is ours, and somebody waits for it
            stand_back(child.pid, _NICENESS, session=self._nice)
        return self._child

    def _take_end(self, event: Ended) -> None:
        fork = self._forks.pop(event.pid, None)
        if fork is None:
            self._ended[event.pid] = event.status  # before we were told that it began
        else:
            fork.end(event.status)

    def _forget(self, child: Child) -> None:
        """What was forked has ended with its zygote."""
        if self._child is child:
            self._child = None
        for fork in [one for one in self._forks.values() if one.zygote is child]:
            self._forks.pop(fork.pid)
            fork.end(-9)


class Fork:
    """A process that was forked: its zygote is its parent."""

    def __init__(self, pid: int, zygote: Child) -> None:
        self.pid, self.zygote = pid, zygote
        self._ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._killing: asyncio.Task[None] | None = None

    def kill(self) -> None:
        """End it at once, with all that it has started, whatever it is at."""
        if self._killing is None and not self._ended.done():
            self._killing = asyncio.create_task(self._kill())

    def end(self, status: int) -> None:
        """Take note that it has ended."""
        if not self._ended.done():
            self._ended.set_result(status)

    async def wait(self) -> int:
        """Return the exit status once it has ended; negative is a signal."""
        return await asyncio.shield(self._ended)

    async def _kill(self) -> None:
        try:
            await self.zygote.ask(Kill(self.pid), timeout_seconds=FORK_SECONDS)
        except BbopsError:
            self.zygote.kill()  # what it has forked ends with it


def make_socket_folder() -> Path:
    """Return a new folder that only this user reaches, and whose path is short enough."""
    folder = Path(tempfile.mkdtemp(prefix="bbops-"))
    if len(os.fsencode(folder)) + len("/100000.control") <= _LONGEST_SOCKET:
        return folder
    with suppress(OSError):
        folder.rmdir()
    return Path(tempfile.mkdtemp(prefix="bbops-", dir="/tmp"))
