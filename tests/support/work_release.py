"""A release, and a worker that runs the jobs that its functions enqueue, one by one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from bbops.compiler.compile.release import build
from bbops.compiler.testing.host import fake_host
from bbops.database.schema.place import Place
from bbops.runtime.flow.caching import Cache
from bbops.runtime.flow.run import invoke
from bbops.runtime.linking.release import Release, link
from bbops.runtime.linking.work import Work, link_work
from bbops.runtime.work.events import EventOutbox
from bbops.runtime.work.run_record import RunRecord
from bbops.runtime.work.values import Claim
from bbops.source.tree import MemoryTree
from tests.support.work_bench import Bench


class Enqueuing:
    """A release with some files, and a worker that runs its jobs one by one."""

    files: ClassVar[Mapping[str, str]]

    def __init__(self, on: Bench, place: Place) -> None:
        engine = "sqlite" if isinstance(place, Path) else "postgres"
        built = build(MemoryTree(self.files), database=engine)  # type: ignore[arg-type]
        errors = [str(one) for one in built.diagnostics if one.severity == "error"]
        assert built.project is not None, errors
        outbox = EventOutbox(on.database, on.dialect, lambda: on.at)
        host = replace(fake_host(on.database), events=outbox)
        self.on = on
        self.release: Release = link(built.artifact, name="a", host=host, env={})
        work = link_work(built.artifact, self.release)
        assert work is not None
        self.work: Work = work

    async def call(self, name: str, **given: Any) -> Any:
        run = self.release.answering.run()
        run.cache, run.fuel = Cache(), [100_000]
        return await invoke(run, self.release.functions[name], given, None, None)

    async def pump(self) -> None:
        while await self.on.engine.pump(self.work.plan.route, self.work.plan.arrange):
            pass
        await self.on.engine.wake_due()

    async def work_off(self) -> list[str]:
        """Run what is ready; return the names of the jobs."""
        await self.pump()
        names = []
        for claim in (await self.on.claim()).values():
            names.append(claim.uid)
            try:
                await self.attempt(claim)
            except Exception as error:  # noqa: BLE001 - as the worker does
                await self.on.engine.fail(claim, str(error), None)
        return names

    async def attempt(self, claim: Claim) -> None:
        result = await self.work.plan.run(RunRecord(self.on.engine, claim, {}))
        await self.on.engine.end(claim, result=result)

    async def status(self, uid: str) -> Any:
        return await self.call("status", id=uid)
