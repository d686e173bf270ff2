"""The work process, seen from the parent: started when a release first has something to run."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from bbops.base.errors import ServerError
from bbops_server.process.children import Child, SupervisedChild
from bbops_server.process.messages.request import A, RequestMessage
from bbops_server.publish.processes.link import Link
from bbops_server.publish.processes.requests import WORD_SECONDS, swap, tell

NICENESS: Final = 5


class WorkChild:
    """One process for the work of all projects. Only one server's may run at a time.

    Attributes:
        projects: those whose newest release has work, or whose release before it had.
    """

    def __init__(
        self, inherited: Sequence[socket.socket], prepare: Callable[[Child], Awaitable[None]]
    ) -> None:
        """Start nothing yet.

        Args:
            inherited: the side of a bell that hears, and where data processes meet it.
            prepare: brings a new process up to date.
        """
        self.projects = set[str]()
        self._inherited, self._prepare = inherited, prepare
        self._child: SupervisedChild | None = None
        self._may_run = False
        self._starting = asyncio.Lock()

    @property
    def asking(self) -> list[SupervisedChild]:
        """The process, where there is one."""
        return [self._child] if self._child else []

    async def allow(self) -> None:
        """Run from now on, where there is something to run.

        Raises:
            BbopsError: the process does not start.
        """
        self._may_run = True
        if self.projects:
            await self._start()

    async def link(self, link: Link) -> None:
        """Link a release in the process. Raises: BbopsError: it cannot be linked."""
        self.projects.add(link.project)
        if self._may_run:
            await tell(await self._start(), link.request())

    async def swap(self, link: Link) -> None:
        """Do the work of the linked release. Raises: BbopsError: the process does not answer."""
        if link.project in self.projects and self._child is not None:
            await swap(self._child, link)

    async def ask(self, request: RequestMessage[A]) -> A:
        """Return what the process answers. Raises: BbopsError: it does not, or there is none."""
        if self._child is None:
            raise ServerError("no project has tasks, triggers or events")
        return await self._child.ask(request, timeout_seconds=WORD_SECONDS)

    async def stop(self, grace_seconds: float) -> None:
        """End the process: what runs and does not end in time goes on in the next one."""
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
        fds = [one.fileno() for one in self._inherited]
        return await Child.start("bbops_server.data_plane.work", fds=fds, nice=NICENESS)
