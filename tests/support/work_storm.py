"""A process that works on the jobs of a storm: `python -m tests.support.work_storm PLACE NAME`."""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from bbops.base.host import Database
from bbops.database.postgres.driver import Postgres
from bbops.database.postgres.work import PostgresWork, alive
from bbops.database.schema.place import read_place
from bbops.database.sqlite.driver import Sqlite
from bbops.database.sqlite.work import SqliteWork
from bbops.runtime.work.engine import Engine
from bbops.runtime.work.run_record import RunRecord
from bbops.runtime.work.sql_engine import SqlEngine
from bbops.runtime.work.values import NewJob, ProjectEvent, RetryPolicy, TickDue
from bbops.runtime.work.worker import Worker, WorkPlan

KEYS = 300
SLEEPS, SLEEP_MS = 10, 150
"""One job in so many sleeps between its steps."""
OVER = "over"
"""The name of the note that says that nothing more is emitted."""
LEFT = (
    "SELECT (SELECT count(*) FROM _bbops_jobs) + (SELECT count(*) FROM _bbops_outbox)"
    " + (SELECT 1 - count(*) FROM _bbops_notes WHERE name = ?)"
)


def route(event: ProjectEvent) -> list[NewJob]:
    return [NewJob(f"storm@{event.id}", "storm", event.payload, lane=event.key)]


@asynccontextmanager
async def opened(place: str, name: str) -> AsyncIterator[tuple[Database, Engine, asyncio.Event]]:
    where = read_place(place)
    async with AsyncExitStack() as stack:
        lost = asyncio.Event()
        if isinstance(where, Path):
            database: Sqlite | Postgres = await Sqlite.open(where)
            engine = SqlEngine(database, SqliteWork(), name)
        else:
            database = await Postgres.open(where)
            lost = await stack.enter_async_context(alive(where, name))
            engine = SqlEngine(database, PostgresWork(), name)
        stack.push_async_callback(database.close)
        yield database, engine, lost


async def main(place: str, name: str, mark: str) -> None:
    async with opened(place, name) as (database, engine, lost):
        outside = os.open(mark, os.O_CREAT | os.O_WRONLY | os.O_APPEND)

        async def run(work: RunRecord) -> None:
            number = json.loads(work.job.payload)
            work.begin()
            work.enter("0")
            key = work.draw(lambda: str(uuid.uuid4()))  # no later attempt gets another one

            async def call() -> int:
                await asyncio.sleep(0.02)
                os.write(outside, f"{number} {key}\n".encode())
                return int(number)

            await work.perform(call)
            if number % SLEEPS == 0:
                work.enter("1")
                work.pause(SLEEP_MS)
            work.enter("2")
            insert = "INSERT INTO _bbops_notes (name, text) VALUES (?, ?)"
            await work.change([(insert, (f"{number:06}/{work.job.id}", name))])

        plan = WorkPlan(route, run, lambda _, __: TickDue(), lambda _: RetryPolicy(attempts=99))
        working = asyncio.create_task(Worker(engine, plan, random.random).run())
        while (await database.read(LEFT, (OVER,)))[0][0]:
            await asyncio.wait({working}, timeout=0.1)
            if working.done():
                working.result()
            if lost.is_set():
                os._exit(1)  # others have its jobs
        working.cancel()
        await asyncio.wait({working})


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
