"""The work process, seen from the parent, and its socket to the data processes."""

from __future__ import annotations

import asyncio
import shutil
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from bbops.base.errors import ServerError
from bbops_server.process.children import Child, SupervisedChild
from bbops_server.process.forks.keeper import make_socket_folder
from bbops_server.process.messages.request import A, RequestMessage
from bbops_server.process.sockets.binding import BACKLOG
from bbops_server.publish.processes.link import Link
from bbops_server.publish.processes.requests import SHORT_SECONDS, ask_slowly, swap

NICENESS: Final = 5


class WorkChild:
    """The process that does the work of all projects. Only one server may run it at a time.

    Attributes:
        projects: projects whose live or previous release has work.
    """

    def __init__(
        self, inherited: Sequence[socket.socket], prepare: Callable[[Child], Awaitable[None]]
    ) -> None:
        """Prepare the process without starting it.

        Args:
            inherited: the receiver of wake-ups, and the socket for data processes.
            prepare: brings a new process up to date.
        """
        self.projects = set[str]()
        self._inherited, self._prepare = inherited, prepare
        self._child: SupervisedChild | None = None
        self._may_run = False
        self._starting = asyncio.Lock()

    @property
    def children(self) -> list[SupervisedChild]:
        """The process; empty before it is started."""
        return [self._child] if self._child else []

    async def allow(self) -> None:
        """Start the process now if there is work, and later once there is.

        Raises:
            BbopsError: the process does not start.
        """
        self._may_run = True
        if self.projects:
            await self._start()

    async def link(self, link: Link) -> None:
        """Link a release in the process. Raises: BbopsError: linking failed."""
        self.projects.add(link.project)
        if self._may_run:
            await ask_slowly(await self._start(), link.request())

    async def swap(self, link: Link) -> None:
        """Make the linked release live. Raises: BbopsError: the process does not respond."""
        if link.project in self.projects and self._child is not None:
            await swap(self._child, link)

    async def ask(self, request: RequestMessage[A]) -> A:
        """Return the process's answer. Raises: BbopsError: it failed, or is not running."""
        if self._child is None:
            raise ServerError("no project has tasks, triggers or events")
        return await self._child.ask(request, timeout_seconds=SHORT_SECONDS)

    async def stop(self, grace_seconds: float) -> None:
        """Stop the process; the next one continues jobs that do not end in time."""
        self._may_run = False
        async with self._starting:
            if self._child is not None:
                await self._child.stop(grace_seconds)
                self._child = None

    async def _start(self) -> SupervisedChild:
        async with self._starting:
            if self._child is None:
                child = SupervisedChild(self._make, self._prepare)
                await child.start()
                self._child = child
            return self._child

    async def _make(self) -> Child:
        fds = [inherited.fileno() for inherited in self._inherited]
        return await Child.start("bbops_server.data_plane.work", fds=fds, nice=NICENESS)


class CenterSocket:
    """A socket of the parent, so that it outlives the work process; connections wait meanwhile."""

    def __init__(self) -> None:
        self._folder = make_socket_folder()
        self.path = str(self._folder / "center")
        self.listening = socket.socket(socket.AF_UNIX)
        self.listening.bind(self.path)
        self.listening.listen(BACKLOG)

    def close(self) -> None:
        """Close the socket and remove its folder."""
        self.listening.close()
        shutil.rmtree(self._folder, ignore_errors=True)
