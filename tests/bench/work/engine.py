"""Jobs, events, ticks and claims, through the engine itself."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from statistics import median
from typing import Final

from bbops.database.migrate import migrate
from bbops.database.schema.place import Place, write_place
from bbops.runtime.work.engine import Engine
from bbops.runtime.work.run_record import RunRecord
from bbops.runtime.work.statements import emit, enqueue
from bbops.runtime.work.values import NewJob, Tick, TickDue
from bbops.runtime.work.worker import Worker, WorkPlan
from tests.bench.figures import Figure
from tests.bench.work.cpu import Meter, Used
from tests.support.work_storm import opened, route

JOBS: Final = 1_000
EVENTS: Final = 10_000
TICKS: Final = 10_000
ROUNDS: Final = 5
"""The median of so many counts: a busy machine disturbs some."""

_MOST: Final = {"SQLite": 0.1, "PostgreSQL": 0.6}


def measure(place: Place, database: str) -> Iterator[Figure]:
    """Yield what jobs, events and ticks cost."""
    migrate.apply(place, {})
    jobs, events, ticks = asyncio.run(_measure(place))
    for what, used, most in (
        (f"{JOBS:,} jobs of two recorded steps", jobs, _MOST[database]),
        (f"{EVENTS:,} events to jobs", events, 0.6),
        (f"{TICKS:,} due ticks", ticks, 0.6),
    ):
        yield Figure(f"{what}, {database}", median(one.own for one in used), "s CPU", most)
        if database == "PostgreSQL":
            yield Figure("  of the server's processes", median(one.backends for one in used), "s")


async def _measure(place: Place) -> list[list[Used]]:
    jobs, events, ticks, meter = list[Used](), list[Used](), list[Used](), Meter(place)
    async with opened(write_place(place), "bench") as (_, engine, _):
        for at in range(ROUNDS):
            await fill(engine, JOBS, run_at=at)
            jobs.append(await meter.of(lambda: drain(engine)))
            await _emit(engine)
            events.append(await meter.of(lambda: _flood(engine)))
            await engine.database.change("DELETE FROM _bbops_jobs WHERE true")
            await engine.set_ticks(Tick(f"task{one}", 1, str(at)) for one in range(TICKS))
            ticks.append(await meter.of(lambda: _tick(engine)))
            await engine.database.change("DELETE FROM _bbops_jobs WHERE true")
    return [jobs, events, ticks]


async def fill(engine: Engine, count: int, run_at: int = 0) -> None:
    """Enqueue jobs."""
    for start in range(0, count, 500):
        every = range(start, min(start + 500, count))
        await engine.database.write_all([
            enqueue(NewJob(f"job{run_at}-{at}", "work", "{}", run_at=run_at), 0) for at in every
        ])  # fmt: skip
        while await engine.pump(lambda _: ()):
            pass


async def two_steps(work: RunRecord) -> None:
    """Do two things outside of the database, each of which is recorded."""

    async def call() -> int:
        return 7

    work.begin()
    for step in ("0", "1"):
        work.enter(step)
        await work.perform(call)


async def drain(engine: Engine) -> None:
    """Run what there is."""
    plan = WorkPlan(lambda _: (), two_steps, lambda _, __: TickDue())
    working = asyncio.create_task(Worker(engine, plan, lambda: 0.5).run())
    left = "SELECT 1 FROM _bbops_jobs WHERE state <> 'later' LIMIT 1"
    while await engine.database.read(left):
        await asyncio.sleep(0.01)
    working.cancel()
    await asyncio.wait({working})


async def _emit(engine: Engine) -> None:
    for start in range(0, EVENTS, 500):
        await engine.database.write_all([
            emit("paid", json.dumps({"n": start + at}), 0, key=str(at % 50)) for at in range(500)
        ])  # fmt: skip


async def _flood(engine: Engine) -> None:
    while await engine.pump(route):
        pass


async def _tick(engine: Engine) -> None:
    while await engine.tick(lambda tick, now: TickDue((tick.at,), now + 60_000)):
        pass
