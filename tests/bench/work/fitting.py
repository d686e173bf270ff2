"""What it costs to see that the queries of code that fails still fit the tables."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Final

from bbops.database.migrate import migrate
from bbops.database.open import open_database
from bbops.database.schema.place import Place
from tests.bench.figures import Figure
from tests.bench.work.cpu import Meter

ROUNDS: Final = 200
_QUERIES: Final = [
    f"SELECT name, text FROM _bbops_notes WHERE name = ? AND text <> '{at}'" for at in range(10)
]


def measure(place: Place, database: str) -> Iterator[Figure]:
    """Yield milliseconds for a function of ten queries; each attempt that fails pays them."""
    migrate.apply(place, {})
    used = asyncio.run(_measure(place))
    yield Figure(f"ten queries are prepared, {database}", used, "ms CPU")


async def _measure(place: Place) -> float:
    meter, database = Meter(place), await open_database(place)

    async def prepare() -> None:
        for _ in range(ROUNDS):
            for sql in _QUERIES:
                await database.prepare(sql)

    used = await meter.of(prepare)
    await database.close()
    return 1e3 * (used.own + used.backends) / ROUNDS
