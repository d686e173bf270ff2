"""A thousand releases later nothing of them is left: objects, name spaces, memory, descriptors."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path

import pytest

from bbops.runtime.flow.run import Function
from bbops.runtime.linking.pipeline import Pipeline
from bbops.runtime.linking.release import Release
from tests.support.doors import ENV, Door, run

SWAPS = 1_000
WARM = 200
KINDS = (Release, Pipeline, Function)


def count() -> tuple[list[int], int]:
    """Return how many there are of each kind, and of name spaces of compiled functions."""
    gc.collect()
    objects = gc.get_objects()
    # by the exact type: `isinstance` asks proxies of other modules, which then complain
    of_kind = [sum(type(one) is kind for one in objects) for kind in KINDS]
    spaces = sum(type(one) is dict and one.get("__builtins__") == {} for one in objects)
    return of_kind, spaces


def kilobytes() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    (told,) = [line for line in lines if line.startswith("VmRSS:")]
    return int(told.split()[1])


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux")
def test_a_thousand_swaps_leave_nothing_behind(tmp_path: Path) -> None:
    async def test(door: Door) -> None:
        paths = [door.compile(version) for version in (1, 2)]
        database = tmp_path / "data.sqlite"

        async def swap(number: int) -> None:
            name = f"r{number}"
            await door.live.link(paths[number % 2], name=name, env=ENV, database=database)
            door.live.swap(name)
            status, headers, body = await door.ask()
            assert (status, headers["x-release"], body["version"]) == (200, name, number % 2 + 1)

        async def settle() -> tuple[tuple[list[int], int], int, int]:
            await asyncio.sleep(0.2)
            return count(), kilobytes(), len([*Path("/proc/self/fd").iterdir()])

        for number in range(WARM):
            await swap(number)
        before = await settle()
        for number in range(WARM, SWAPS):
            await swap(number)
        after = await settle()
        print(f"\n{before} after {WARM} swaps, {after} after {SWAPS}")
        assert after[0] == before[0]
        assert before[0][0][0] == 1
        assert after[1] - before[1] < 4_000
        assert after[2] <= before[2] + 3  # the history has its file open now and then
        assert len(door.live._drains) == 0

    run(tmp_path, test)
