"""Migrate a project's tables for a release that was built here, phase by phase."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bbops.base.errors import MigrationRefused, ServerError
from bbops.database.migrate import rollout
from bbops.database.migrate.listening import refuse_triggers
from bbops.database.migrate.looking import Looked, look
from bbops.database.migrate.migrate import refusal
from bbops.database.migrate.rollout_plan import RolloutPlan
from bbops.database.migrate.switch_time import refuse_long_switch
from bbops.database.open import throw_away
from bbops.database.schema.place import Place, read_place
from bbops.database.schema.row_events import ByTable, Listening
from bbops.language.resources.table import Table
from bbops.runtime.linking.lasting import Lasting
from bbops_server.process.messages.request import DoneAnswer
from bbops_server.process.messages.service import Handlers
from bbops_server.process.messages.tables import (
    ExpandTables,
    ExpandTablesAnswer,
    FindRelease,
    FindReleaseAnswer,
    NarrowTables,
    NarrowTablesAnswer,
    Rehearsal,
    RehearseMigration,
    SettleTables,
    SwitchTables,
    TriedStatements,
    TryStatements,
)
from bbops_server.publish.build.executor import SyncHandlers
from bbops_server.publish.build.smoke import try_release
from bbops_server.publish.holds.approvals import read_approved, record_applied, record_waiting

_BUILDS_KEPT = 2
"""Builds to keep for each project, between a build and its migration."""

_PROJECTS_KEPT = 8
"""Projects whose linked functions are kept for the next smoke test."""

_AT_ONCE = 4
"""Databases that are migrated in parallel: a project does not wait for another."""


LOOK_SECONDS = 20.0
"""The time limit for planning a proposal."""


@dataclass(frozen=True, slots=True)
class DeclaredTables:
    """The tables of a build, and the row events of its triggers."""

    tables: Mapping[str, Table]
    row_events: ByTable


class DatabaseHandlers:
    """Handles requests about databases."""

    def __init__(self) -> None:
        self._declared: dict[Path, dict[str, DeclaredTables]] = {}
        self._lasting: dict[Path, Lasting] = {}
        self._threads = ThreadPoolExecutor(_AT_ONCE, "bbops-tables")
        self._looks = ThreadPoolExecutor(_AT_ONCE, "bbops-looks")

    @property
    def handlers(self) -> Handlers:
        """Handlers for requests of the parent; each raises as its `rollout` function."""
        in_threads: SyncHandlers = {
            ExpandTables: self._expand,
            SwitchTables: _switch,
            SettleTables: _settle,
            NarrowTables: _narrow,
            FindRelease: _find_release,
        }
        handlers = {kind: partial(self._in_thread, handler) for kind, handler in in_threads.items()}
        return {**handlers, RehearseMigration: self._rehearse, TryStatements: self._try_statements}

    def remember(self, state: Path, digest: str, declared: DeclaredTables) -> None:
        """Keep the declared tables of a build for its migration."""
        builds = self._declared.setdefault(state, {})
        builds.pop(digest, None)
        builds[digest] = declared
        while len(builds) > _BUILDS_KEPT:
            del builds[next(iter(builds))]

    async def plan_unreviewed(self, place: Place, tables: Mapping[str, Table]) -> Looked:
        """Plan the effect of tables on the live data. Raises as `rollout.plan`.

        The tables may be unreviewed: planning has a time limit and its own threads.
        """
        work = partial(look, place, tables, seconds=LOOK_SECONDS)
        return await asyncio.get_running_loop().run_in_executor(self._looks, work)

    async def close(self) -> None:
        """Wait for running work."""
        await asyncio.to_thread(self._threads.shutdown)
        await asyncio.to_thread(self._looks.shutdown)

    async def _in_thread(self, work: Callable[..., Any], *arguments: Any) -> Any:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, work, *arguments)

    async def _rehearse(self, request: RehearseMigration) -> Rehearsal:
        """Plan a migration that fits its time, and try the release on empty tables."""
        place, declared = read_place(request.database), self._find(request)
        await self._in_thread(refuse_long_switch, place, declared.tables)
        await self._in_thread(refuse_triggers, place, declared.row_events)
        planned: RolloutPlan = await self._in_thread(self._plan, request)
        if not planned.is_done and not planned.is_first:
            with throw_away(place) as stage:
                await self._in_thread(rollout.rehearse, stage, planned)
                await self._try_release(request.artifact, stage)
        return Rehearsal(
            is_done=planned.is_done,
            is_behind=planned.is_behind,
            switches=planned.phases.switches,
            hidden=[".".join(filter(None, name)) for name in sorted(planned.hidden)],
            listens=planned.listening != Listening(declared.row_events),
        )

    async def _try_statements(self, request: TryStatements) -> TriedStatements:
        tried = await self._try_release(request.artifact, read_place(request.database))
        return TriedStatements(**tried)

    async def _try_release(self, artifact: str, place: Place) -> dict[str, int]:
        path = Path(artifact)
        lasting = self._lasting.pop(path.parent, None) or Lasting()
        self._lasting[path.parent] = lasting
        while len(self._lasting) > _PROJECTS_KEPT:
            del self._lasting[next(iter(self._lasting))]
        return await try_release(path, place, lasting)

    def _plan(self, request: RehearseMigration | ExpandTables) -> RolloutPlan:
        planned = rollout.plan(read_place(request.database), self._find(request).tables)
        migration, state = planned.migration, Path(request.state)
        if migration.refused and migration.hash not in read_approved(state):
            if migration.is_waiting:
                record_waiting(state, migration)
            raise refusal(migration)
        return planned

    def _expand(self, request: ExpandTables) -> ExpandTablesAnswer:
        place, state = read_place(request.database), Path(request.state)
        declared = self._find(request)
        try:
            migration = rollout.expand(
                place, declared.tables, read_approved(state),
                row_events=declared.row_events, release=request.digest,
            )  # fmt: skip
        except MigrationRefused:
            self._plan(request)  # new rows block it; the plan records the waiting migration
            raise
        if migration.losses:
            record_applied(state, migration.hash)
        return ExpandTablesAnswer([str(change) for change in migration.changes])

    def _find(self, request: RehearseMigration | ExpandTables) -> DeclaredTables:
        """Return the declared tables of a build.

        Raises:
            ServerError: a previous process has built it.
        """
        declared = self._declared.get(Path(request.state), {}).get(request.digest)
        if declared is None:
            digest = request.digest[:12]
            raise ServerError(f"release '{digest}' was not built here", hint="build it again")
        return declared


def _switch(request: SwitchTables) -> DoneAnswer:
    rollout.switch(read_place(request.database), request.digest, until=request.until)
    return DoneAnswer()


def _settle(request: SettleTables) -> DoneAnswer:
    rollout.settle(read_place(request.database), request.digest)
    return DoneAnswer()


def _narrow(request: NarrowTables) -> NarrowTablesAnswer:
    place = read_place(request.database)
    rollout.narrow(place, request.digest)
    return NarrowTablesAnswer([str(hidden) for hidden in rollout.find_hidden(place)])


def _find_release(request: FindRelease) -> FindReleaseAnswer:
    return FindReleaseAnswer(rollout.find_release(read_place(request.database)))
