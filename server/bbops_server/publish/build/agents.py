"""The work of agents in repositories: on a thread of its own, so that no publication waits for it.

Its stores and caches are its own, too: each is for one thread.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec

from bbops.base.errors import DatabaseError
from bbops.build.compile.release import Cache
from bbops.database.migrate.serialization import as_json
from bbops.database.schema.place import Place, read_place
from bbops.interfaces.mcp.drafting.operations import run_operation
from bbops.interfaces.mcp.drafting.project_repository import ProjectRepository
from bbops.interfaces.mcp.tool import ToolError
from bbops.language.project import Project
from bbops.source.git.store import Store
from bbops.source.git.writing import Identity
from bbops_server.process.messages.proposals import (
    DoWork,
    Workbench,
    WorkDone,
    WorkRefusal,
)
from bbops_server.publish.build.tables import TablesAtWork

WEIGH_SECONDS: Final = 30.0
MOST_KEPT: Final = 20
"""Projects whose compiled code is remembered; the one asked for first goes first."""


class Agents:
    """Does work by its name; what refuses it comes back as a value."""

    def __init__(self, tables: TablesAtWork) -> None:
        """`tables` knows the live data."""
        self._tables = tables
        self._thread = ThreadPoolExecutor(1, "bbops-agents")
        self._stores: dict[str, Store] = {}
        self._caches: dict[tuple[str, str], Cache] = {}

    async def handle(self, request: DoWork) -> WorkDone:
        """Do a work, or say why not.

        Raises:
            BbopsError: the repository cannot be read or written.
        """
        loop = asyncio.get_running_loop()
        try:
            done = await loop.run_in_executor(self._thread, self._do, request, loop)
        except ToolError as refused:
            calls = [msgspec.to_builtins(one) for one in refused.next]
            return WorkDone(refused=WorkRefusal(refused.message, refused.hint, calls))
        return WorkDone(done)

    def _do(self, request: DoWork, loop: asyncio.AbstractEventLoop) -> dict[str, Any]:
        bench = self._bench(request.bench, loop)
        return run_operation(bench, request.work, request.taken)

    def _bench(self, about: Workbench, loop: asyncio.AbstractEventLoop) -> ProjectRepository:
        repository, folder = about.repository, about.folder
        if repository not in self._stores:
            self._stores[repository] = Store.open(Path(repository))
        place = read_place(about.database)
        return ProjectRepository(
            self._stores[repository], about.live, folder, Identity(*about.who),
            frozenset(about.taken), about.published, about.elsewhere, about.url,
            about.engine, about.off, self._cache(repository, folder),
            partial(self._weigh, loop, place), about.project,
        )  # fmt: skip

    def _cache(self, repository: str, folder: str) -> Cache:
        if (repository, folder) not in self._caches and len(self._caches) >= MOST_KEPT:
            del self._caches[next(iter(self._caches))]
        return self._caches.setdefault((repository, folder), Cache())

    def _weigh(
        self, loop: asyncio.AbstractEventLoop, place: Place, project: Project
    ) -> dict[str, Any]:
        tables = {name: one.model for name, one in project.tables.items()}
        planned = asyncio.run_coroutine_threadsafe(self._tables.look(place, tables), loop)
        try:
            return as_json(planned.result(WEIGH_SECONDS).told)
        except TimeoutError:
            planned.cancel()
            raise DatabaseError("the database does not answer in time") from None
