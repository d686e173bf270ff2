"""The jobs with procrastinate."""

from __future__ import annotations

import asyncio
import sys
import time

import procrastinate  # type: ignore[import-not-found]  # of an environment of its own

JOBS = 1_000


async def main(url: str, mode: str) -> None:
    connector = procrastinate.PsycopgConnector(conninfo=url)
    app = procrastinate.App(connector=connector)
    done, left = asyncio.Event(), JOBS if mode == "jobs" else 1

    @app.task(name="job")  # type: ignore[untyped-decorator]
    async def work(number: int) -> None:
        nonlocal left
        if mode == "jobs":
            for path in ("0", "1"):
                await asyncio.sleep(0.002)
                await connector.execute_query_async(
                    "INSERT INTO _steps VALUES (%(job)s, %(path)s, '7')", job=number, path=path
                )
        else:
            await connector.execute_query_async("INSERT INTO _marks VALUES (%(mode)s)", mode=mode)
            await asyncio.sleep(3_600 if mode == "die" else 0)
        left -= 1
        if not left:
            done.set()

    async with app.open_async():
        if mode != "rescue":
            await app.schema_manager.apply_schema_async()
            for number in range(left):
                await work.defer_async(number=number)
        used = time.process_time()
        print("begun", flush=True)
        running = asyncio.create_task(
            app.run_worker_async(concurrency=50, install_signal_handlers=False)
        )
        await asyncio.wait(
            {running, asyncio.create_task(done.wait())}, return_when=asyncio.FIRST_COMPLETED
        )
        print(f"done {time.process_time() - used}", flush=True)
        sys.stdin.read()  # until it is killed


asyncio.run(main(*sys.argv[1:3]))
