"""Work of agents in repositories, in its own thread, so that no publication waits for it.

It has its own stores and caches, since each is for one thread.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec

from bbops.base.errors import DatabaseError
from bbops.compiler.compile.release import Cache
from bbops.database.migrate.rollout_plan import as_json
from bbops.database.schema.place import Place, read_place
from bbops.interfaces.mcp.drafting.operations import run_operation
from bbops.interfaces.mcp.drafting.project_repository import ProjectRepository
from bbops.interfaces.mcp.tool import ToolError
from bbops.language.project import Project
from bbops.source.git.store import Store
from bbops.source.git.writing import Identity
from bbops_server.process.messages.proposals import DoWork, DoWorkAnswer, Workbench, WorkRefusal
from bbops_server.publish.build.tables import DatabaseHandlers

PLAN_SECONDS: Final = 30.0
MAX_CACHES: Final = 20
"""Projects whose compiled code is cached; the oldest is dropped first."""


class AgentWorker:
    """Does an agent's work; a refusal is returned as a value."""

    def __init__(self, tables: DatabaseHandlers) -> None:
        """`tables` plans changes of the live data."""
        self._tables = tables
        self._thread = ThreadPoolExecutor(1, "bbops-agents")
        self._stores: dict[str, Store] = {}
        self._caches: dict[tuple[str, str], Cache] = {}

    async def handle(self, request: DoWork) -> DoWorkAnswer:
        """Do a piece of work, or return why it is refused.

        Raises:
            BbopsError: the repository cannot be read or written.
        """
        loop = asyncio.get_running_loop()
        try:
            result = await loop.run_in_executor(self._thread, self._do, request, loop)
        except ToolError as refused:
            calls = [msgspec.to_builtins(call) for call in refused.next]
            return DoWorkAnswer(refused=WorkRefusal(refused.message, refused.hint, calls))
        return DoWorkAnswer(result)

    def _do(self, request: DoWork, loop: asyncio.AbstractEventLoop) -> dict[str, Any]:
        bench = self._bench(request.bench, loop)
        return run_operation(bench, request.work, request.taken)

    def _bench(self, workbench: Workbench, loop: asyncio.AbstractEventLoop) -> ProjectRepository:
        repository, folder = workbench.repository, workbench.folder
        if repository not in self._stores:
            self._stores[repository] = Store.open(Path(repository))
        place = read_place(workbench.database)
        return ProjectRepository(
            self._stores[repository], workbench.live, folder, Identity(*workbench.who),
            frozenset(workbench.taken), workbench.published, workbench.elsewhere, workbench.url,
            workbench.engine, workbench.off, self._cache(repository, folder),
            partial(self._plan, loop, place), workbench.project, workbench.trailer,
        )  # fmt: skip

    def _cache(self, repository: str, folder: str) -> Cache:
        if (repository, folder) not in self._caches and len(self._caches) >= MAX_CACHES:
            del self._caches[next(iter(self._caches))]
        return self._caches.setdefault((repository, folder), Cache())

    def _plan(
        self, loop: asyncio.AbstractEventLoop, place: Place, project: Project
    ) -> dict[str, Any]:
        tables = {name: table.model for name, table in project.tables.items()}
        planned = asyncio.run_coroutine_threadsafe(
            self._tables.plan_unreviewed(place, tables), loop
        )
        try:
            looked = planned.result(PLAN_SECONDS)
            return as_json(looked.told, looked.triggers)
        except TimeoutError:
            planned.cancel()
            raise DatabaseError("the database does not answer in time") from None
