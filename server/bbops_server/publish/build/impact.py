"""Say what a change would do, to the data, to the tests and by the rules; nothing live changes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from bbops.base.errors import ServerError
from bbops.build.compile.release import Cache, check
from bbops.database.migrate.copying import copy_rows
from bbops.database.migrate.serialization import as_json
from bbops.database.schema.place import read_place
from bbops.review.plan.asking import Question, make_tree
from bbops_server.process.messages import Frame
from bbops_server.publish.build.compiling import Compiling
from bbops_server.publish.build.executor import Executor, Verb
from bbops_server.publish.build.gate import Gate
from bbops_server.publish.build.proposing import agree, find_wait, judge, read_live_rules, read_pair
from bbops_server.publish.build.serialization import describe
from bbops_server.publish.build.sources import Sources
from bbops_server.publish.build.tables import TablesAtWork


class Impact:
    """Reads commits in their turn, asks the data beside it; each verb takes a request."""

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
    def verbs(self) -> Mapping[str, Verb]:
        """What the parent asks."""
        return {
            "propose": self._propose, "weigh": self._weigh, "try": self._try,
            "copy rows": self._copy,
        }  # fmt: skip

    async def _propose(self, request: Frame) -> Frame:
        read = partial(
            read_pair, self._sources, request["base"], request["source"], off=request["off"],
            engine=request["engine"],
        )  # fmt: skip
        pair = await self._executor.take(read)
        place, tables = read_place(request["database"]), pair.tables
        looked = None if tables is None else await self._tables.look(place, tables)
        told = looked.told if looked is not None else None
        found: Frame = await asyncio.to_thread(
            judge, pair, told, describe, read_live_rules(request["review"])
        )
        if looked is None:
            return found | {"waits": ""}
        state = Path(request["state"])
        if request.get("digest") == found["digest"]:
            await asyncio.to_thread(agree, state, looked.migration, request["agreed_by"])
        # whoever publishes past a review is told this, and nobody else
        return found | {"waits": await asyncio.to_thread(find_wait, state, looked.migration)}

    async def _weigh(self, request: Frame) -> Frame:
        """Say what tables that are in no commit would do to the data."""
        tree = make_tree(Question(request["tables"]))
        look = partial(check, tree, Cache(), database=request["engine"], off=(), base=tree)
        project, found = await self._executor.take(look)
        if project is None:
            raise ServerError(f"the tables have mistakes: {found[0].message}")
        tables = {name: one.model for name, one in project.tables.items()}
        looked = await self._tables.look(read_place(request["database"]), tables)
        return as_json(looked.told)

    async def _try(self, request: Frame) -> Frame:
        """Run the tests of a commit that is not to be served, whether or not they are a gate."""
        handed = await self._executor.take(partial(self._compiling.hand_over, request))
        return await self._gate.run(Path(request["state"]), handed)

    async def _copy(self, request: Frame) -> Frame:
        """Copy rows of what is live into a draft, whose commit says which tables there are."""
        project = await self._executor.take(partial(self._compiling.read, request))
        tables = {name: one.model for name, one in project.tables.items()}
        counts = await asyncio.to_thread(
            copy_rows, read_place(request["from"]), read_place(request["to"]), tables,
            request["tables"], limit=request["limit"], masked=request["masked"],
        )  # fmt: skip
        return {"rows": counts}
