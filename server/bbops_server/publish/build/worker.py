"""The build process: it answers by the table of its verbs. Whatever goes wrong is an answer, too.

Most of it happens on one thread, which owns the repositories and the caches; the smoke test, what
changes tables, and what waits for a network do not hold it up.
"""

from __future__ import annotations

import asyncio
import gc
import os
import socket
from functools import cached_property
from typing import TYPE_CHECKING

from bbops.database.sqlite.quota import limit_size
from bbops.source.git.command import end_all
from bbops_server.process.forks import limits
from bbops_server.process.host.log import start_logging
from bbops_server.process.messages.builds import (
    FindSecret,
    WriteContract,
    WrittenContract,
)
from bbops_server.process.messages.channel import ProcessChannel
from bbops_server.process.messages.lifecycle import Stop
from bbops_server.process.messages.proposals import DoWork, DoWorkAnswer
from bbops_server.process.messages.request import DoneAnswer
from bbops_server.process.messages.service import Handlers, RequestService
from bbops_server.publish.build.compiling import Compiling
from bbops_server.publish.build.executor import Executor, Works
from bbops_server.publish.build.gate import Gate
from bbops_server.publish.build.impact import Impact
from bbops_server.publish.build.repositories import Repositories
from bbops_server.publish.build.secret_search import Search
from bbops_server.publish.build.sources import Sources
from bbops_server.publish.build.tables import TablesAtWork

if TYPE_CHECKING:
    from bbops_server.publish.build.agents import Agents
    from bbops_server.publish.build.contracts import Contracts


class Builder:
    """What the parent can ask for: `service` answers it, side by side."""

    def __init__(self) -> None:
        self._executor, self._sources = Executor(), Sources()
        self._tables, self._gate = TablesAtWork(), Gate()
        repositories = Repositories(self._sources)
        compiling = Compiling(self._sources, self._tables, self._gate)
        impact = Impact(self._executor, self._sources, compiling, self._tables, self._gate)
        in_turn: Works = {
            **repositories.works, **compiling.works, FindSecret: Search().answer,
            WriteContract: self._write_contract,
        }  # fmt: skip
        handlers: Handlers = {
            **self._executor.in_turn(in_turn),
            **self._executor.online(repositories.online),
            **self._tables.handlers,
            **self._gate.handlers,
            **impact.handlers,
            DoWork: self._work,
            Stop: self._stop,
        }
        self.service = RequestService("the build process", handlers)

    @cached_property
    def _agents(self) -> Agents:
        from bbops_server.publish.build.agents import Agents  # noqa: PLC0415 - most servers see none

        return Agents(self._tables)

    @cached_property
    def _contracts(self) -> Contracts:
        from bbops_server.publish.build.contracts import Contracts  # noqa: PLC0415 - few are asked for

        return Contracts(self._sources)

    def _write_contract(self, request: WriteContract) -> WrittenContract:
        return self._contracts.answer(request)

    async def _work(self, request: DoWork) -> DoWorkAnswer:
        return await self._agents.handle(request)

    async def _stop(self, request: Stop) -> DoneAnswer:
        """End what is under way; answer when everything asked before is done."""
        del request
        end_all()  # nothing that is under way there is needed now
        await self._gate.close()
        await self._tables.close()
        return await self._executor.take(DoneAnswer)


def run(*, control: int, is_of_drafts: bool = False) -> None:
    """Work until the parent says stop, or is gone; of drafts under their limits."""
    if is_of_drafts:
        limits.apply(limits.DRAFT_BUILD)
        limit_size(limits.DRAFT_DATABASE_BYTES)
    asyncio.run(_run(control))
    # Not waiting for what is under way: files and tables change wholly or not.
    end_all()
    os._exit(0)


async def _run(control: int) -> None:
    start_logging()
    # projects stay in memory from build to build: collecting them again and again took 0.2 s each
    gc.set_threshold(20_000, 20, 100)
    os.set_inheritable(control, False)  # noqa: FBT003 - its signature
    channel = await ProcessChannel.open(socket.socket(fileno=control))
    await Builder().service.run(channel)
