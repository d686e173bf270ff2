"""On which thread what is done: repositories and caches are for one at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeAlias, TypeVar

from bbops_server.process.messages.repositories import Fetch, ListRemoteBranches, PushTag
from bbops_server.process.messages.request import AnswerMessage, RequestMessage
from bbops_server.process.messages.service import Handlers

T = TypeVar("T")
Online: TypeAlias = Fetch | ListRemoteBranches | PushTag

Work: TypeAlias = Callable[[Any], AnswerMessage]
"""Answers a request on the thread that it is given; raises BbopsError where it cannot."""

Works: TypeAlias = Mapping[type[RequestMessage[Any]], Work]


class Executor:
    """One thread owns the repositories and the caches; each mirror has one of its own."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "bbops-build")
        self._online: dict[str, ThreadPoolExecutor] = {}

    async def take(self, work: Callable[[], T]) -> T:
        """Do something when everything asked before is done."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def in_turn(self, works: Works) -> Handlers:
        """Return handlers that answer one request after the other."""
        return {kind: partial(self._do, work) for kind, work in works.items()}

    def online(self, works: Works) -> Handlers:
        """Return handlers that wait for a network: a host that hangs holds up its mirror alone."""
        return {kind: partial(self._do_online, work) for kind, work in works.items()}

    async def _do(self, work: Work, request: RequestMessage[Any]) -> AnswerMessage:
        return await self.take(partial(work, request))

    async def _do_online(self, work: Work, request: Online) -> AnswerMessage:
        mirror = request.mirror
        if mirror not in self._online:
            self._online[mirror] = ThreadPoolExecutor(1, "bbops-git")
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._online[mirror], work, request)
