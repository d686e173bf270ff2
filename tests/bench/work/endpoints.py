"""What endpoints without events pay for work beside them: asked in turn with it and without."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bbops.database.schema.place import Place
from tests.bench import duel
from tests.bench.contests import Contest, Run
from tests.bench.duel import Duels
from tests.bench.figures import Figure
from tests.bench.shots import ADD, ITEM

ROUNDS: Final = 15
SECONDS: Final = 1.0
CONTESTS: Final = [
    Contest(what, Run("ours off", shot), Run("ours beside work", shot), None)
    for what, shot in (("a row by id", ITEM), ("an insert", ADD))
]


def measure(place: Place, database: str) -> Iterator[Figure]:
    """Yield ratios of CPU for each request; on SQLite, where a request costs least."""
    if not isinstance(place, Path):
        return
    with TemporaryDirectory(prefix="bbops-") as folder:
        found = asyncio.run(_run(Path(folder)))
    for one in found.outcomes:
        yield Figure(f"{one.contest.name} in a project with work, {database}", one.ratio_by_cpu,
                     "times", 1.03)  # fmt: skip


async def _run(folder: Path) -> Duels:
    return await duel.measure(
        CONTESTS, folder, rounds=ROUNDS, seconds=SECONDS, memory_of="ours off"
    )
