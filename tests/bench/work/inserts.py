"""What an event adds to an insert: by `emit` in its commit, and by a trigger of its table."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Final

from bbops.compiler.compile.release import build
from bbops.compiler.compile.row_events import find_row_events
from bbops.database.migrate import rollout
from bbops.database.open import open_database
from bbops.database.schema.place import Place
from bbops.runtime.work.statements import Statement, emit
from bbops.source.tree import MemoryTree
from tests.bench.figures import Figure
from tests.bench.work.cpu import Meter

ROUNDS: Final = 21
INSERTS: Final = 500

_TABLE: Final = """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  who: { type: string }
  total: { type: integer }
  status: { type: string }
"""
_FILES: Final = {
    "project.yaml": "bbops: 1\nname: shop\n",
    "tables/quiet.yaml": _TABLE, "tables/heard.yaml": _TABLE, "tables/picky.yaml": _TABLE,
    "triggers/picked.yaml": (
        "database: { table: picky, operation: [insert], where: status == 'gone' }\nfunction: note\n"
    ),
    "triggers/sold.yaml": "database: { table: heard, operation: [insert] }\nfunction: note\n",
    "functions/note.yaml": 'steps:\n  - log: { message: "${ trigger.newRow }" }\n',
}  # fmt: skip
_INSERT: Final = "INSERT INTO {} (who, total, status) VALUES (?, ?, ?)"
_ROW: Final = "ann", 12, "new"
_PAYLOAD: Final = '{"id": 1, "who": "ann", "total": 12, "status": "new"}'
_BOUND: Final = {"SQLite": 15.0, "PostgreSQL": None}


def measure(place: Place, database: str) -> Iterator[Figure]:
    """Yield microseconds of CPU."""
    engine = "sqlite" if database == "SQLite" else "postgres"
    built = build(MemoryTree(_FILES), database=engine)  # type: ignore[arg-type]
    assert built.project is not None, built.diagnostics
    tables = {name: one.model for name, one in built.project.tables.items()}
    hears = find_row_events(built.project)
    planned = {rollout.plan(place, tables).migration.hash}
    rollout.expand(place, tables, planned, row_events=hears, release="one")
    rollout.settle(place, "one")
    alone, triggered, passed, emitted = asyncio.run(_measure(place))
    yield Figure(f"an insert, {database}", alone, "us CPU")
    yield Figure(f"its trigger adds, {database}", triggered, "us CPU", _BOUND[database])
    yield Figure(f"  whose condition is false, {database}", passed, "us CPU")
    yield Figure(f"`emit` in its commit adds, {database}", emitted, "us CPU")


async def _measure(place: Place) -> tuple[float, float, float, float]:
    """Return what an insert costs, and what triggers and an `emit` add; interleaved."""
    meter, database = Meter(place), await open_database(place)
    quiet: list[Statement] = [(_INSERT.format("quiet"), _ROW)]
    others = [[(_INSERT.format(one), _ROW)] for one in ("heard", "picky")]
    ways = [quiet, *others, [*quiet, emit("sold", _PAYLOAD, 0)]]
    took: list[list[float]] = [[] for _ in ways]

    async def insert(statements: Sequence[Statement]) -> None:
        for _ in range(INSERTS):
            await database.write_all(statements)

    for _ in range(ROUNDS):
        for way, found in zip(ways, took, strict=True):
            used = await meter.of(lambda way=way: insert(way))  # type: ignore[misc]
            found.append(1e6 * (used.own + used.backends) / INSERTS)
        await database.change("DELETE FROM _bbops_outbox WHERE true")
    await database.close()
    alone, *more = took
    return median(alone), *(
        median(one - before for one, before in zip(some, alone, strict=True)) for some in more
    )  # type: ignore[return-value]
