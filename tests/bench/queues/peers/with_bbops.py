"""The jobs with the engine of bbops; the URL is the address of a schema."""

from __future__ import annotations

import asyncio
import random
import sys
import time

from bbops.database.migrate import migrate
from bbops.database.schema.place import read_place
from bbops.runtime.work.run_record import RunRecord
from bbops.runtime.work.statements import enqueue
from bbops.runtime.work.values import NewJob, TickDue
from bbops.runtime.work.worker import Worker, WorkPlan
from tests.support.work_storm import opened

JOBS = 1_000


async def main(place: str, mode: str) -> None:
    if mode != "rescue":
        migrate.apply(read_place(place), {})
    done, left = asyncio.Event(), JOBS if mode == "jobs" else 1
    async with opened(place, f"{mode}-{random.random()}") as (database, engine, _):
        if mode != "rescue":
            jobs = [NewJob(f"job{at}", "job", "{}") for at in range(left)]
            await database.write_all([enqueue(one, 0) for one in jobs])

        async def step() -> int:
            await asyncio.sleep(0.002)
            return 7

        async def work(recorded: RunRecord) -> None:
            nonlocal left
            recorded.begin()
            if mode == "jobs":
                for path in ("0", "1"):
                    recorded.enter(path)
                    await recorded.perform(step)
            else:
                await database.write("INSERT INTO _marks VALUES (?)", (mode,))
                await asyncio.sleep(3_600 if mode == "die" else 0)
            left -= 1
            if not left:
                done.set()

        used = time.process_time()
        print("begun", flush=True)
        plan = WorkPlan(lambda _: (), work, lambda _, __: TickDue())
        running = asyncio.create_task(Worker(engine, plan, random.random).run())
        await asyncio.wait(
            {running, asyncio.create_task(done.wait())}, return_when=asyncio.FIRST_COMPLETED
        )
        print(f"done {time.process_time() - used}", flush=True)
        sys.stdin.read()  # until it is killed


asyncio.run(main(*sys.argv[1:3]))
