"""What endpoints without events pay for work beside them: asked in turn with it and without."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

from bbops.database.schema.place import Place
from tests.bench import duel
from tests.bench.contests import Contest, Run
from tests.bench.duel import Duels
from tests.bench.figures import Figure
from tests.bench.shots import ADD, ITEM

PAIRS: Final = 5
"""Of servers: one that is started anew is some percent faster or slower, whatever it serves."""
ROUNDS: Final = 5
SECONDS: Final = 1.0
CONTESTS: Final = [
    Contest(what, Run("ours off", shot), Run("ours beside work", shot), None)
    for what, shot in (("a row by id", ITEM), ("an insert", ADD))
]


def measure(place: Place, database: str) -> Iterator[Figure]:
    """Yield ratios of CPU for each request; on SQLite, where a request costs least."""
    if not isinstance(place, Path):
        return
    ratios: dict[str, list[float]] = {}
    for _ in range(PAIRS):
        with TemporaryDirectory(prefix="bbops-") as folder:
            found = asyncio.run(_run(Path(folder)))
        for one in found.outcomes:
            ratios.setdefault(one.contest.name, []).append(one.ratio_by_cpu)
    for name, each in ratios.items():
        yield Figure(f"{name} in a project with work, {database}", median(each), "times", 1.03)


async def _run(folder: Path) -> Duels:
    return await duel.measure(
        CONTESTS, folder, rounds=ROUNDS, seconds=SECONDS, memory_of="ours off"
    )
