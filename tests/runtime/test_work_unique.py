"""Jobs with a `unique`: a queued job absorbs the next, a running job is followed by it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, ClassVar

import pytest

from bbops.database.schema.place import Place
from bbops.runtime.values.failures import Failure
from bbops.runtime.work.control import WorkControl
from bbops.runtime.work.run_record import RunRecord
from bbops.runtime.work.values import Claim
from tests.support.work_bench import bench, place
from tests.support.work_release import Enqueuing

__all__ = ["bench", "place"]

SAVE = """
input: { n: integer, key?: string }
steps:
  - enqueue: { function: index, input: { n: "${ input.n }" }, unique: "${ input.key }" }
    as: job
  - return: { value: "${ vars.job }" }
"""
DO = """
input: { n: integer }
steps:
  - set: { at: "${ now() }" }
  - if: input.n == 13
    then:
      - emit: { event: index.seen }
      - throw: { status: 500, message: not that one }
  - return: { value: "${ input.n }" }
"""


class Index(Enqueuing):
    """Enqueues jobs that have no lane of their own."""

    files: ClassVar[Mapping[str, str]] = {
        "project.yaml": "bbops: 1\nname: work\n",
        "functions/save.yaml": SAVE, "functions/index.yaml": DO,
    }  # fmt: skip

    async def save(self, key: str | None = "a", n: int = 1) -> Any:
        return await self.call("save", n=n, **({} if key is None else {"key": key}))

    async def begin(self) -> list[Claim]:
        await self.pump()
        return [*(await self.on.claim()).values()]

    async def end(self, claim: Claim) -> None:
        await self.attempt(claim)

    async def die(self, claim: Claim) -> None:
        """Let the job fail for the last time, with what it has done on record."""
        known = await self.on.engine.steps(claim)
        with pytest.raises(Failure):
            await self.work.plan.run(RunRecord(self.on.engine, claim, known))
        await self.on.engine.fail(claim, "not that one", None)

    async def states(self) -> list[str]:
        rows = await self.on.database.read("SELECT state FROM _bbops_jobs ORDER BY id")
        return [state for (state,) in rows]


def run(bench: Any, place: Place, work: Callable[[Index], Awaitable[None]]) -> None:
    bench(lambda on: work(Index(on, place)))


def test_a_row_saved_while_its_job_runs_reaches_a_second_job(bench: Any, place: Place) -> None:
    async def work(index: Index) -> None:
        first = await index.save()
        assert await index.save() == {"id": first["id"], "isNew": False}
        (running,) = await index.begin()
        second = await index.save()
        assert second["isNew"]
        assert second["id"] != first["id"]
        assert await index.save() == {"id": second["id"], "isNew": False}
        assert await index.begin() == []
        assert await index.states() == ["running", "blocked"]
        await index.end(running)
        (next_,) = await index.begin()
        assert next_.uid == second["id"]

    run(bench, place, work)


def test_jobs_of_other_keys_and_without_one_run_beside_it(bench: Any, place: Place) -> None:
    async def work(index: Index) -> None:
        await index.save("a")
        await index.begin()
        for key in ("a", "b", None, None):
            await index.save(key)
        assert len(await index.begin()) == 3

    run(bench, place, work)


def test_a_job_that_waits_for_its_next_attempt_has_begun(bench: Any, place: Place) -> None:
    async def work(index: Index) -> None:
        first = await index.save(n=13)
        (claim,) = await index.begin()
        await index.on.engine.fail(claim, "not that one", index.on.at + 5_000)
        second = await index.save()
        assert second["isNew"]
        assert await index.begin() == []
        index.on.at += 5_000
        (again,) = await index.begin()
        assert again.uid == first["id"]
        await index.die(again)
        (next_,) = await index.begin()
        assert next_.uid == second["id"]

    run(bench, place, work)


def test_a_dead_job_is_not_retried_beside_a_new_one_of_its_key(bench: Any, place: Place) -> None:
    async def work(index: Index) -> None:
        control = WorkControl(index.on.database, index.on.dialect, now=lambda: index.on.at)
        dead = (await index.save(n=13))["id"]
        (claim,) = await index.begin()
        await index.die(claim)
        assert await control.replacement(dead) == ""
        new = (await index.save())["id"]
        await index.pump()
        assert await control.replacement(dead) == new
        assert not await control.retry(dead)
        assert not await control.retry(dead, from_start=True)
        (claim,) = await index.begin()
        assert claim.uid == new
        assert await control.replacement(dead) == ""  # it has begun, and may have read too early
        assert await control.retry(dead)
        assert await index.begin() == []
        await index.end(claim)
        (again,) = await index.begin()
        assert again.uid == dead

    run(bench, place, work)


def test_a_job_retried_from_its_start_is_the_one_of_its_key(bench: Any, place: Place) -> None:
    async def work(index: Index) -> None:
        control = WorkControl(index.on.database, index.on.dialect, now=lambda: index.on.at)
        first = await index.save(n=13)
        (claim,) = await index.begin()
        await index.die(claim)
        assert await control.retry(first["id"], from_start=True)
        assert await index.save() == {"id": first["id"], "isNew": False}

    run(bench, place, work)


@pytest.mark.parametrize("place", ["postgres"], indirect=True)  # SQLite has one writer at a time
@pytest.mark.parametrize("is_pumped", [False, True])
def test_a_job_does_not_begin_before_what_it_is_to_see_is_committed(
    bench: Any, place: Place, *, is_pumped: bool
) -> None:
    async def work(index: Index) -> None:
        first = await index.save()
        if is_pumped:
            await index.pump()
        async with index.on.database.transaction() as inner:
            events = index.release.answering.host.events.within(inner)
            await events.enqueue("functions/index", "other", {"input": {"n": 1}}, unique="a")
            assert await index.on.claim() == {}
        (claim,) = await index.begin()
        assert claim.uid == first["id"]

    run(bench, place, work)
