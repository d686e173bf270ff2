"""How much a million jobs that sleep change a claim; interleaved with a queue that has none."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Final

from bbops.database.migrate import migrate
from bbops.database.schema.place import Place, write_place
from bbops.runtime.work.engine import Engine
from tests.bench.figures import Figure
from tests.bench.work.cpu import Meter
from tests.bench.work.engine import fill
from tests.support.postgres import new_schema
from tests.support.work_storm import opened

SLEEPERS: Final = 1_000_000
ROUNDS: Final = 15
CLAIMS: Final = 300

_FAR: Final = 2**52
_SLEEP: Final = (
    "WITH RECURSIVE every(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM every WHERE n < {})"
    " INSERT INTO _bbops_jobs (uid, work, payload, state, run_at, created_at)"
    " SELECT 'sleeper' || (n + {}), 'work', '{{}}', 'later', {} + n, 0 FROM every"
)
_AT_ONCE: Final = 20_000


def measure(place: Place, database: str) -> Iterator[Figure]:
    """Yield the ratio of what a claim costs beside them, and without."""
    with ExitStack() as stack:
        other = _beside(place, stack)
        for one in (place, other):
            migrate.apply(one, {})
        alone, beside = asyncio.run(_measure(other, place))
    ratio = median(one / two for one, two in zip(beside, alone, strict=True))
    yield Figure(f"a claim, {database}", median(alone), "us CPU")
    yield Figure(f"  beside {SLEEPERS:,} jobs that sleep", ratio, "times", 1.2)


def _beside(place: Place, stack: ExitStack) -> Place:
    if isinstance(place, Path):
        return place.with_name("alone.sqlite")
    return stack.enter_context(new_schema(place.url))


async def _measure(*places: Place) -> list[list[float]]:
    """Return microseconds of CPU, the backends' included, of the claims of each round."""
    found: list[list[float]] = [[] for _ in places]
    async with (
        opened(write_place(places[0]), "alone") as (_, alone, _),
        opened(write_place(places[1]), "beside") as (_, beside, _),
    ):
        await _fill(beside)
        for at in range(ROUNDS):
            for place, engine, took in zip(places, (alone, beside), found, strict=True):
                await fill(engine, CLAIMS, run_at=at)
                used = await Meter(place).of(lambda engine=engine: _claim(engine))  # type: ignore[misc]
                took.append(1e6 * (used.own + used.backends) / CLAIMS)
                await _end(engine)
    return found


async def _fill(engine: Engine) -> None:
    for start in range(0, SLEEPERS, _AT_ONCE):
        await engine.database.change(_SLEEP.format(_AT_ONCE, start, _FAR))


async def _claim(engine: Engine) -> None:
    for _ in range(CLAIMS):
        await engine.claim(1)
        await engine.wake_due()


async def _end(engine: Engine) -> None:
    await engine.database.change("DELETE FROM _bbops_jobs WHERE state = 'running'")
