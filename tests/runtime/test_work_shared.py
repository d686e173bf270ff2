"""Jobs that end or record something at the same time share commits, and fail alone."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from bbops.runtime.values.failures import Unavailable
from bbops.runtime.work.fenced_writes import MAX_BATCH, WriteBatcher
from bbops.runtime.work.sql_engine import SqlEngine
from bbops.runtime.work.values import FencedError
from tests.support.work_bench import Bench, Work, bench, job, place

__all__ = ["bench", "place"]


class Counted:
    """A database that counts commits."""

    def __init__(self, door: Any) -> None:
        self.door, self.commits = door, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.door, name)

    async def write(self, *given: Any, **more: Any) -> Any:
        self.commits += 1
        return await self.door.write(*given, **more)

    async def write_all(self, *given: Any, **more: Any) -> Any:
        self.commits += 1
        return await self.door.write_all(*given, **more)


def test_records_and_ends_of_one_turn_share_a_commit_each(bench: Callable[[Work], None]) -> None:
    async def work(on: Bench) -> None:
        counted = Counted(on.database)
        engine = SqlEngine(counted, on.dialect, "one", now=lambda: on.at)  # type: ignore[arg-type]
        await on.enqueue(*(job(str(at), lane="abc"[at % 3], seats=9) for at in range(27)))
        claimed = await engine.claim(50)
        counted.commits = 0
        await asyncio.gather(*(engine.checkpoint(one, "0", one.uid) for one in claimed))
        assert counted.commits == 1
        assert [await engine.steps(one) for one in claimed] == [{"0": one.uid} for one in claimed]
        assert all(await asyncio.gather(*(engine.end(one) for one in claimed)))
        assert counted.commits == 2
        kept = await on.database.read("SELECT uid FROM _bbops_job_log ORDER BY id")
        assert [uid for (uid,) in kept] == [one.uid for one in claimed]

    bench(work)


def test_what_is_large_is_committed_alone(bench: Callable[[Work], None]) -> None:
    async def work(on: Bench) -> None:
        counted = Counted(on.database)
        engine = SqlEngine(counted, on.dialect, "one", now=lambda: on.at)  # type: ignore[arg-type]
        await on.enqueue(*(job(str(at)) for at in range(6)))
        claimed, large = await engine.claim(50), random.Random(1).randbytes(90_000).hex()
        counted.commits = 0
        await asyncio.gather(
            *(engine.checkpoint(one, "0", large if one.uid < "2" else 1) for one in claimed)
        )
        assert counted.commits == 3
        ended = [engine.end(one, result=large if one.uid < "2" else "1") for one in claimed]
        assert all(await asyncio.gather(*ended))
        assert counted.commits == 6
        rows = await on.database.read("SELECT uid, length(value) FROM _bbops_results ORDER BY uid")
        assert [size for _, size in rows] == [len(large)] * 2 + [1] * 4

    bench(work)


def test_who_has_lost_a_job_fails_alone(bench: Callable[[Work], None]) -> None:
    async def work(on: Bench) -> None:
        await on.enqueue(*(job(str(at), lane=str(at)) for at in range(9)))
        claimed = [*(await on.claim()).values()]
        await on.database.change("UPDATE _bbops_jobs SET fence = 7 WHERE uid = '4'")
        told = await asyncio.gather(
            *(on.engine.checkpoint(one, "0", 1) for one in claimed), return_exceptions=True
        )
        assert [at for at, one in enumerate(told) if isinstance(one, FencedError)] == [4]
        assert [one for at, one in enumerate(told) if at != 4] == [None] * 8
        ended = await asyncio.gather(*(on.engine.end(one) for one in claimed))
        assert [at for at, one in enumerate(ended) if not one] == [4]
        assert await on.states() == {"4": "running"}
        assert await on.database.read("SELECT count(*) FROM _bbops_job_log") == [(8,)]

    bench(work)


def test_as_many_take_the_seats_of_a_lane_as_have_left_them(
    bench: Callable[[Work], None],
) -> None:
    async def work(on: Bench) -> None:
        lanes = {"narrow": 1, "wide": 3}
        await on.enqueue(*(
            job(f"{lane}{at}", lane=lane, seats=seats)
            for at in range(7) for lane, seats in lanes.items()
        ))  # fmt: skip
        done = []
        while claimed := await on.claim():
            done.append(sorted(claimed))
            assert all(await asyncio.gather(*map(on.engine.end, claimed.values())))
        assert done[0] == ["narrow0", "wide0", "wide1", "wide2"]
        assert done[1] == ["narrow1", "wide3", "wide4", "wide5"]
        assert done[2:] == [["narrow2", "wide6"], *([f"narrow{at}"] for at in range(3, 7))]

    bench(work)


# ---- what shares commits
def test_what_waits_goes_with_the_next_commit_in_order() -> None:
    batches = list[Sequence[int]]()

    async def write(some: Sequence[int]) -> Sequence[int]:
        batches.append(some)
        await asyncio.sleep(0)
        return [-one for one in some]

    async def main() -> None:
        shared = WriteBatcher(write)
        count = 2 * MAX_BATCH + 5
        assert await asyncio.gather(*map(shared.add, range(count))) == [-at for at in range(count)]

    asyncio.run(main())
    assert [len(some) for some in batches] == [MAX_BATCH, MAX_BATCH, 5]


def test_a_database_that_is_away_is_asked_once_and_all_hear_of_it() -> None:
    asked = list[Sequence[int]]()

    async def write(some: Sequence[int]) -> Sequence[int]:
        asked.append(some)
        raise Unavailable("databaseAway", "away", hint="", retry_seconds=1)

    async def main() -> None:
        shared = WriteBatcher(write)
        told = await asyncio.gather(*map(shared.add, range(3)), return_exceptions=True)
        assert [type(one) for one in told] == [Unavailable] * 3

    asyncio.run(main())
    assert asked == [[0, 1, 2]]


def test_who_is_cancelled_before_the_commit_is_left_out() -> None:
    asked = list[Sequence[int]]()

    async def write(some: Sequence[int]) -> Sequence[int]:
        asked.append(some)
        return some

    async def main() -> None:
        shared = WriteBatcher(write)
        first, second = (asyncio.ensure_future(shared.add(at)) for at in (1, 2))
        await asyncio.sleep(0)
        first.cancel()
        assert await second == 2
        with pytest.raises(asyncio.CancelledError):
            await first

    asyncio.run(main())
    assert asked == [[2]]
