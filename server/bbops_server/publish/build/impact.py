"""Say what a change would do, to the data, to the tests and by the rules; nothing live changes."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

import msgspec

from bbops.base.errors import ServerError
from bbops.build.compile.release import Cache, check
from bbops.database.migrate.copying import copy_rows
from bbops.database.migrate.serialization import as_json
from bbops.database.schema.place import read_place
from bbops.review.plan.question import Question, make_tree
from bbops_server.process.messages.builds import RunCommitTests
from bbops_server.process.messages.forks import CaseReport
from bbops_server.process.messages.proposals import ImpactPlan, Propose, ProposedChange, WeighTables
from bbops_server.process.messages.service import Handlers
from bbops_server.process.messages.tables import CopiedRows, CopyRows
from bbops_server.publish.build.compiling import Compiling
from bbops_server.publish.build.executor import Executor
from bbops_server.publish.build.gate import Gate
from bbops_server.publish.build.proposing import agree, find_wait, judge, read_live_rules, read_pair
from bbops_server.publish.build.sources import Sources
from bbops_server.publish.build.tables import TablesAtWork


class Impact:
    """Reads commits in their turn, asks the data beside it."""

    def __init__(
        self,
        executor: Executor,
        sources: Sources,
        compiling: Compiling,
        tables: TablesAtWork,
        gate: Gate,
    ) -> None:
        self._executor, self._sources, self._compiling = executor, sources, compiling
        self._tables, self._gate = tables, gate

    @property
    def handlers(self) -> Handlers:
        """What the parent asks."""
        return {
            Propose: self._propose, WeighTables: self._weigh, RunCommitTests: self._test,
            CopyRows: self._copy,
        }  # fmt: skip

    async def _propose(self, request: Propose) -> ProposedChange:
        read = partial(
            read_pair, self._sources, request.base, request.source, off=request.off,
            engine=request.engine,
        )  # fmt: skip
        pair = await self._executor.take(read)
        place, tables = read_place(request.database), pair.tables
        looked = None if tables is None else await self._tables.look(place, tables)
        found = await asyncio.to_thread(
            judge, pair, looked, read_live_rules(request.review), request.work
        )  # fmt: skip
        if looked is None:
            return found
        state = Path(request.state)
        if request.digest == found.digest:
            await asyncio.to_thread(agree, state, looked.migration, request.agreed_by)
        # whoever publishes past a review is told this, and nobody else
        waits = await asyncio.to_thread(find_wait, state, looked.migration)
        return msgspec.structs.replace(found, waits=waits)

    async def _weigh(self, request: WeighTables) -> ImpactPlan:
        """Say what tables that are in no commit would do to the data."""
        tree = make_tree(Question(request.tables))
        look = partial(check, tree, Cache(), database=request.engine, off=(), base=tree)
        project, found = await self._executor.take(look)
        if project is None:
            raise ServerError(f"the tables have mistakes: {found[0].message}")
        tables = {name: one.model for name, one in project.tables.items()}
        looked = await self._tables.look(read_place(request.database), tables)
        return ImpactPlan(as_json(looked.told, looked.triggers))

    async def _test(self, request: RunCommitTests) -> CaseReport:
        """Run the tests of a commit that is not to be served, whether or not they are a gate."""
        handed = await self._executor.take(partial(self._compiling.hand_over, request))
        return await self._gate.run(Path(request.state), handed)

    async def _copy(self, request: CopyRows) -> CopiedRows:
        """Copy rows of what is live into a draft, whose commit says which tables there are."""
        project = await self._executor.take(partial(self._compiling.read, request.source))
        tables = {name: one.model for name, one in project.tables.items()}
        counts = await asyncio.to_thread(
            copy_rows, read_place(request.origin), read_place(request.target), tables,
            request.tables, limit=request.limit, masked=request.masked,
        )  # fmt: skip
        return CopiedRows(counts)
