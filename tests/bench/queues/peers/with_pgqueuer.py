"""The jobs with pgqueuer."""

from __future__ import annotations

import asyncio
import sys
import time
from datetime import timedelta

import asyncpg
from pgqueuer import (  # type: ignore[import-not-found]  # of an environment of its own
    AsyncpgDriver,
    AsyncpgPoolDriver,
    PgQueuer,
    Queries,
)

JOBS = 1_000


async def main(url: str, mode: str) -> None:
    pool = await asyncpg.create_pool(url, min_size=4, max_size=4)
    queries = Queries(AsyncpgDriver(await asyncpg.connect(url)))
    if mode != "rescue":
        await queries.install()
        count = JOBS if mode == "jobs" else 1
        await queries.enqueue(["job"] * count, [b"{}"] * count, [0] * count)
    done, left = asyncio.Event(), JOBS if mode == "jobs" else 1
    queue = PgQueuer(AsyncpgPoolDriver(pool))

    @queue.entrypoint("job")  # type: ignore[untyped-decorator]
    async def work(job: object) -> None:
        nonlocal left
        if mode == "jobs":
            for path in ("0", "1"):
                await asyncio.sleep(0.002)
                await pool.execute("INSERT INTO _steps VALUES ($1, $2, '7')", job.id, path)  # type: ignore[attr-defined]
        else:
            await pool.execute("INSERT INTO _marks VALUES ($1)", mode)
            await asyncio.sleep(3_600 if mode == "die" else 0)
        left -= 1
        if not left:
            done.set()

    used = time.process_time()
    print("begun", flush=True)
    running = asyncio.create_task(queue.run(batch_size=50, dequeue_timeout=timedelta(seconds=1)))
    await asyncio.wait(
        {running, asyncio.create_task(done.wait())}, return_when=asyncio.FIRST_COMPLETED
    )
    print(f"done {time.process_time() - used}", flush=True)
    sys.stdin.read()  # until it is killed


asyncio.run(main(*sys.argv[1:3]))
