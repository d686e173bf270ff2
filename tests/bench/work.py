"""What work outside of requests costs: `python -m tests.bench.work [PLACE]`, CPU of this process.

PLACE is a file of SQLite, or an address of PostgreSQL with an empty schema; a new file where it is
left out.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from bbops.database.migrate import migrate
from bbops.database.schema.place import read_place, write_place
from bbops.runtime.work.attempts import Plan
from bbops.runtime.work.engine import Engine
from bbops.runtime.work.outbox import emit, enqueue
from bbops.runtime.work.recorded import Recorded
from bbops.runtime.work.values import NewJob, Tick, TickDue
from bbops.runtime.work.worker import Worker
from tests.support.work_storm import opened, route

JOBS, EVENTS, TICKS, SLEEPERS = 1_000, 10_000, 10_000, 100_000


async def measured(what: str, work: Callable[[], Awaitable[object]]) -> float:
    cpu, wall = time.process_time(), time.perf_counter()
    await work()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    print(f"{what:<44} {cpu:8.3f} s CPU {wall:8.3f} s")
    return cpu


async def fill(engine: Engine, count: int, run_at: int = 0) -> None:
    for start in range(0, count, 500):
        every = range(start, min(start + 500, count))
        await engine.database.write_all([
            enqueue(NewJob(f"job{run_at}-{at}", "work", "{}", run_at=run_at), 0) for at in every
        ])  # fmt: skip
        while await engine.pump(lambda _: ()):
            pass


async def two_steps(work: Recorded) -> None:
    async def call() -> int:
        return 7

    work.begin()
    for step in ("0", "1"):
        work.enter(step)
        await work.once(call)


async def drain(engine: Engine) -> None:
    plan = Plan(lambda _: (), two_steps, lambda _, __: TickDue())
    worker = Worker(engine, plan, lambda: 0.5)
    working = asyncio.create_task(worker.run())
    while await engine.database.read("SELECT 1 FROM _bbops_jobs WHERE state <> 'later' LIMIT 1"):
        await asyncio.sleep(0.01)
    working.cancel()
    await asyncio.wait({working})


async def flood(engine: Engine) -> None:
    while await engine.pump(route):
        pass


async def main(place: str) -> None:
    migrate.apply(read_place(place), {})
    async with opened(place, "bench") as (database, engine, _):
        await fill(engine, JOBS)
        await measured(f"{JOBS:,} jobs of two recorded steps", lambda: drain(engine))
        for start in range(0, EVENTS, 500):
            await database.write_all([
                emit("paid", json.dumps({"n": start + at}), 0, key=str(at % 50))
                for at in range(500)
            ])  # fmt: skip
        await measured(f"{EVENTS:,} events to jobs", lambda: flood(engine))
        await database.change("DELETE FROM _bbops_jobs")
        await engine.set_ticks(Tick(f"task{at}", 1) for at in range(TICKS))

        async def ticks() -> None:
            while await engine.tick(lambda tick, now: TickDue((tick.at,), now + 60_000)):
                pass

        await measured(f"{TICKS:,} due ticks", ticks)
        await database.change("DELETE FROM _bbops_jobs")
        alone = await claims(engine, "1,000 claims of one job each")
        await fill(engine, SLEEPERS, run_at=2**52)
        beside = await claims(engine, f"the same beside {SLEEPERS:,} jobs that sleep")
        print(f"{'ratio':<44} {beside / alone:8.2f}")


async def claims(engine: Engine, what: str) -> float:
    await fill(engine, JOBS, run_at=len(what))

    async def claim() -> None:
        for _ in range(JOBS):
            (job,) = await engine.claim(1)
            await engine.end(job)

    return await measured(what, claim)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        given = sys.argv[1] if len(sys.argv) > 1 else write_place(Path(folder) / "data.sqlite")
        asyncio.run(main(given))
