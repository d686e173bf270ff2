"""The threads of the build process: repositories and caches are for one thread at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeAlias, TypeVar

from bbops_server.process.messages.request import AnswerMessage, RequestMessage
from bbops_server.process.messages.service import Handlers
from bbops_server.publish.build.mirrors import MirrorRequest

T = TypeVar("T")

SyncHandler: TypeAlias = Callable[[Any], AnswerMessage]
"""Answers a request in a thread; raises BbopsError if it fails."""

SyncHandlers: TypeAlias = Mapping[type[RequestMessage[Any]], SyncHandler]


class Executor:
    """A thread that owns the repositories and caches, and a thread for each mirror."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "bbops-build")
        self._online: dict[str, ThreadPoolExecutor] = {}

    async def run(self, work: Callable[[], T]) -> T:
        """Run work after all earlier work."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def in_turn(self, handlers: SyncHandlers) -> Handlers:
        """Return handlers that answer one request after the other."""
        return {kind: partial(self._do, handler) for kind, handler in handlers.items()}

    def online(self, handlers: SyncHandlers) -> Handlers:
        """Return handlers that use the network: a host that hangs delays its own mirror only."""
        return {kind: partial(self._do_online, handler) for kind, handler in handlers.items()}

    async def _do(self, handler: SyncHandler, request: RequestMessage[Any]) -> AnswerMessage:
        return await self.run(partial(handler, request))

    async def _do_online(self, handler: SyncHandler, request: MirrorRequest) -> AnswerMessage:
        mirror = request.mirror
        if mirror not in self._online:
            self._online[mirror] = ThreadPoolExecutor(1, "bbops-git")
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._online[mirror], handler, request)
