"""On which thread what is done: repositories and caches are for one at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from bbops_server.process.messages import Frame

T = TypeVar("T")

Work = Callable[[Frame], Frame]
"""Does what a request says, on the thread that it is given; raises BbopsError where it cannot."""

Verb = Callable[[Frame], Awaitable[Frame]]
"""The same, beside others."""


class Executor:
    """One thread owns the repositories and the caches; each mirror has one of its own."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "bbops-build")
        self._online: dict[str, ThreadPoolExecutor] = {}

    async def take(self, work: Callable[[], T]) -> T:
        """Do something when everything asked before is done."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def verbs(self, works: Mapping[str, Work]) -> dict[str, Verb]:
        """Return verbs that are done in turn."""
        return {name: partial(self._do, work) for name, work in works.items()}

    def online(self, works: Mapping[str, Work]) -> dict[str, Verb]:
        """Return verbs that wait for a network: a host that hangs holds up its mirror alone."""
        return {name: partial(self._do_online, work) for name, work in works.items()}

    async def _do(self, work: Work, request: Frame) -> Frame:
        return await self.take(partial(work, request))

    async def _do_online(self, work: Work, request: Frame) -> Frame:
        mirror = request["mirror"]
        if mirror not in self._online:
            self._online[mirror] = ThreadPoolExecutor(1, "bbops-git")
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._online[mirror], work, request)
