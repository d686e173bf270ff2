"""The build process: answers the requests in its table of handlers, errors included.

Most requests run in one thread, which owns the repositories and caches; smoke tests, migrations
and network access run outside of it.
"""

from __future__ import annotations

import asyncio
import gc
import os
import socket
from functools import cached_property
from typing import TYPE_CHECKING

from bbops.database.sqlite.limits import limit_size
from bbops.source.git.command import end_all
from bbops_server.process.forks import limits
from bbops_server.process.host.log import start_logging
from bbops_server.process.messages.builds import (
    CompareCommits,
    ComparedCommits,
    FindSecret,
    ProjectFileAnswer,
    ReadProjectFile,
    WriteContract,
    WriteOutline,
    WrittenContract,
    WrittenOutline,
)
from bbops_server.process.messages.channel import ProcessChannel
from bbops_server.process.messages.lifecycle import Stop
from bbops_server.process.messages.proposals import DoWork, DoWorkAnswer
from bbops_server.process.messages.request import DoneAnswer
from bbops_server.process.messages.service import Handlers, RequestService
from bbops_server.publish.build.compiling import ReleaseCompiler
from bbops_server.publish.build.executor import Executor, SyncHandlers
from bbops_server.publish.build.gate import ReleaseGate
from bbops_server.publish.build.impact import ImpactHandlers, compare_commits
from bbops_server.publish.build.repositories import RepositoryHandlers, ReviewHandlers
from bbops_server.publish.build.sources import OpenSources
from bbops_server.publish.build.tables import DatabaseHandlers
from bbops_server.publish.build.warnings import SecretSearch

if TYPE_CHECKING:
    from bbops_server.publish.build.agents import AgentWorker
    from bbops_server.publish.build.contracts import ContractRenderer, OutlineRenderer


class BuildProcess:
    """The state of the build process; `service` answers requests in parallel."""

    def __init__(self) -> None:
        self._executor, self._sources = Executor(), OpenSources()
        self._tables, self._gate = DatabaseHandlers(), ReleaseGate()
        repositories = RepositoryHandlers(self._sources)
        compiling = ReleaseCompiler(self._sources, self._tables, self._gate)
        impact = ImpactHandlers(self._executor, self._sources, compiling, self._tables, self._gate)
        in_turn: SyncHandlers = {
            **repositories.works, **compiling.works, **ReviewHandlers(self._sources).works,
            FindSecret: SecretSearch().answer,
            WriteContract: self._write_contract, CompareCommits: self._compare,
            WriteOutline: self._write_outline, ReadProjectFile: self._read_file,
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
    def _agents(self) -> AgentWorker:
        from bbops_server.publish.build.agents import AgentWorker  # noqa: PLC0415 - rarely needed

        return AgentWorker(self._tables)

    @cached_property
    def _contracts(self) -> ContractRenderer:
        from bbops_server.publish.build.contracts import ContractRenderer  # noqa: PLC0415 - rarely needed

        return ContractRenderer(self._sources)

    def _write_contract(self, request: WriteContract) -> WrittenContract:
        return self._contracts.answer(request)

    def _compare(self, request: CompareCommits) -> ComparedCommits:
        return compare_commits(self._sources, request)

    @cached_property
    def _outlines(self) -> OutlineRenderer:
        from bbops_server.publish.build.contracts import OutlineRenderer  # noqa: PLC0415 - rarely needed

        return OutlineRenderer(self._sources)

    def _write_outline(self, request: WriteOutline) -> WrittenOutline:
        return self._outlines.answer(request)

    def _read_file(self, request: ReadProjectFile) -> ProjectFileAnswer:
        return self._outlines.read(request)

    async def _work(self, request: DoWork) -> DoWorkAnswer:
        return await self._agents.handle(request)

    async def _stop(self, request: Stop) -> DoneAnswer:
        """End running work; answer when all earlier requests are done."""
        del request
        end_all()  # results of running git commands are not needed any more
        await self._gate.close()
        await self._tables.close()
        return await self._executor.run(DoneAnswer)


def run(*, control: int, is_of_drafts: bool = False) -> None:
    """Run until the parent sends Stop, or is gone; for drafts, with their limits."""
    if is_of_drafts:
        limits.apply(limits.DRAFT_BUILD)
        limit_size(limits.DRAFT_DATABASE_BYTES)
    asyncio.run(_run(control))
    # Does not wait for running work: files and tables change completely or not at all.
    end_all()
    os._exit(0)


async def _run(control: int) -> None:
    start_logging()
    # projects stay in memory from build to build: collecting them again and again took 0.2 s each
    gc.set_threshold(20_000, 20, 100)
    os.set_inheritable(control, False)  # noqa: FBT003 - its signature
    channel = await ProcessChannel.open(socket.socket(fileno=control))
    await BuildProcess().service.run(channel)
