"""How long linking a release keeps requests waiting, without a server, in CPU time."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path
from statistics import median
from time import thread_time

from bbops.compiler.compile.release import build
from bbops.compiler.testing.host import fake_host
from bbops.database.sqlite.driver import Sqlite
from bbops.runtime.linking.release import link_in_slices
from bbops.source.tree import MemoryTree
from tests.bench.figures import Figure
from tests.bench.project import ENV, large_project


def measure(folder: Path, *, files: int, rounds: int) -> list[Figure]:
    """Link a large project again and again; the loop is looked at at every turn."""
    artifact = build(MemoryTree(large_project(files))).artifact
    folder.mkdir()
    # the first one imports what a process imports once
    _, *turns = [asyncio.run(_turns(artifact, folder / str(n))) for n in range(rounds + 1)]
    whole = median(sum(one) for one in turns)
    longest = median(max(one) for one in turns)
    return [
        Figure(f"linking {files:,} files", 1000 * whole, "ms"),
        Figure("the longest turn of the loop meanwhile", 1000 * longest, "ms", 2.0),
    ]


async def _turns(artifact: bytes, database: Path) -> list[float]:
    """Return how long each turn of the loop took while a release was linked."""
    door = await Sqlite.open(database)
    try:
        gc.collect()
        linking = asyncio.create_task(
            link_in_slices(artifact, name="bench", host=fake_host(door), env=ENV)
        )
        found, before = [], thread_time()
        while not linking.done():
            await asyncio.sleep(0)
            now = thread_time()
            found.append(now - before)
            before = now
        await linking
    finally:
        await door.close()
    return found
