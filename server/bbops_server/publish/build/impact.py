"""Effects of a change on data, tests and reviews; nothing live changes."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

import msgspec

from bbops.base.errors import ProjectError, ServerError
from bbops.compiler.check import CheckedProject
from bbops.compiler.compile.release import Cache, check
from bbops.database.migrate.copying import copy_rows
from bbops.database.migrate.rollout_plan import as_json
from bbops.database.schema.place import read_place
from bbops.language.resources.project import Engine
from bbops.review.plan.live import Question, make_tree
from bbops.review.plan.plan import describe, encode, plan
from bbops.review.plan.render.text import render_text
from bbops.runtime.work.engine import now_ms
from bbops.source.git.comparing import read_patch
from bbops.source.tree import Tree
from bbops_server.process.messages.builds import CompareCommits, ComparedCommits, RunCommitTests
from bbops_server.process.messages.forks import CaseReport
from bbops_server.process.messages.proposals import ImpactPlan, Propose, ProposedChange, WeighTables
from bbops_server.process.messages.service import Handlers
from bbops_server.process.messages.tables import CopiedRows, CopyRows
from bbops_server.publish.build.build_input import BuildInput
from bbops_server.publish.build.compiling import ReleaseCompiler
from bbops_server.publish.build.executor import Executor
from bbops_server.publish.build.gate import ReleaseGate
from bbops_server.publish.build.proposed_change import (
    agree,
    assess,
    find_wait,
    read_live_rules,
    read_pair,
)
from bbops_server.publish.build.sources import OpenSources, SourceFields
from bbops_server.publish.build.tables import DatabaseHandlers


class ImpactHandlers:
    """Handles requests about changes: reads commits in turn, and the data in other threads."""

    def __init__(
        self,
        executor: Executor,
        sources: OpenSources,
        compiling: ReleaseCompiler,
        tables: DatabaseHandlers,
        gate: ReleaseGate,
    ) -> None:
        self._executor, self._sources, self._compiling = executor, sources, compiling
        self._tables, self._gate = tables, gate

    @property
    def handlers(self) -> Handlers:
        """Handlers for requests of the parent."""
        return {
            Propose: self._propose, WeighTables: self._plan, RunCommitTests: self._test,
            CopyRows: self._copy,
        }  # fmt: skip

    async def _propose(self, request: Propose) -> ProposedChange:
        read = partial(
            read_pair, self._sources, request.base, request.source, off=request.off,
            engine=request.engine,
        )  # fmt: skip
        pair = await self._executor.run(read)
        place, tables = read_place(request.database), pair.tables
        planned = None if tables is None else await self._tables.plan_unreviewed(place, tables)
        change = await asyncio.to_thread(
            assess, pair, planned, read_live_rules(request.review), request.work
        )  # fmt: skip
        if planned is None:
            return change
        state = Path(request.state)
        if request.digest == change.digest:
            await asyncio.to_thread(agree, state, planned.migration, request.agreed_by)
        # only for a publication without a review
        waits = await asyncio.to_thread(find_wait, state, planned.migration)
        return msgspec.structs.replace(change, waits=waits)

    async def _plan(self, request: WeighTables) -> ImpactPlan:
        """Plan the effect of uncommitted tables on the data."""
        tree = make_tree(Question(request.tables))
        read = partial(check, tree, Cache(), database=request.engine, off=(), base=tree)
        project, diagnostics = await self._executor.run(read)
        if project is None:
            raise ServerError(f"the tables have errors: {diagnostics[0].message}")
        tables = {name: table.model for name, table in project.tables.items()}
        planned = await self._tables.plan_unreviewed(read_place(request.database), tables)
        return ImpactPlan(as_json(planned.told, planned.triggers))

    async def _test(self, request: RunCommitTests) -> CaseReport:
        """Run the tests of a commit, with or without a gate.

        The files of a checked commit are read beside the thread of publications, which nothing of
        it delays; the process of its tests compiles it.
        """
        if request.is_checked:
            test_input = await asyncio.to_thread(_read_checked, request)
        else:
            test_input = await self._executor.run(partial(self._compiling.read_input, request))
        return await self._gate.run(Path(request.state), test_input)

    async def _copy(self, request: CopyRows) -> CopiedRows:
        """Copy live rows into a draft, into the tables of its commit."""
        project = await self._executor.run(partial(self._compiling.read, request.source))
        tables = {name: table.model for name, table in project.tables.items()}
        counts = await asyncio.to_thread(
            copy_rows, read_place(request.origin), read_place(request.target), tables,
            request.tables, limit=request.limit, masked=request.masked,
        )  # fmt: skip
        return CopiedRows(counts)


def _read_checked(request: RunCommitTests) -> BuildInput:
    return BuildInput.take(OpenSources.open_apart(request.source), request.engine, request.off)


# ---- Compare two commits of a project: the plan from one to the other, and their difference


def compare_commits(sources: OpenSources, request: CompareCommits) -> ComparedCommits:
    """Return the plan and the difference of two commits.

    Raises:
        GitError: a commit cannot be read, or too much differs.
        ProjectError: a commit has errors, for example as the language was stricter later.
    """
    before, now = _read(sources, request.base, request.engine)
    after, then = _read(sources, request.head, request.engine)
    document = describe(plan(now, then, now=now_ms()), before, after)
    store = sources.store(request.head["repository"])
    folder = request.head["path"]
    diff = read_patch(
        store.place, request.base["commit"], request.head["commit"], [folder] if folder else []
    )
    return ComparedCommits(encode(document), render_text(document), diff)


def _read(
    sources: OpenSources, source: SourceFields, engine: Engine
) -> tuple[Tree, CheckedProject]:  # fmt: skip
    tree, cache = sources.open(source)
    project, diagnostics = check(tree, cache, database=engine, off=(), base=tree)
    if project is None:
        raise ProjectError(diagnostics)
    return tree, project
