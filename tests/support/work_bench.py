"""An engine of work on each database, with a clock that stands still."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bbops.base.host import Database
from bbops.database.migrate import migrate
from bbops.database.postgres.driver import Postgres
from bbops.database.postgres.work import PostgresWork
from bbops.database.schema.place import Place
from bbops.database.sqlite.driver import Sqlite
from bbops.database.sqlite.work import SqliteWork
from bbops.runtime.work.engine import Engine
from bbops.runtime.work.sql_engine import SqlEngine
from bbops.runtime.work.statements import emit, enqueue
from bbops.runtime.work.values import Claim, NewJob, ProjectEvent
from tests.support.postgres import DATABASES, place_of

Work = Callable[["Bench"], Awaitable[None]]


class Bench:
    """An engine with a clock that stands still, and what its events make."""

    def __init__(
        self, database: Database, dialect: Any, make: Callable[..., Engine] = SqlEngine
    ) -> None:
        self.database, self.dialect, self.make, self.at = database, dialect, make, 1_000_000
        self.engine = self.worker("one")
        self.routes: dict[str, Callable[[ProjectEvent], list[NewJob]]] = {}

    def worker(self, name: str) -> Engine:
        return self.make(self.database, self.dialect, name, now=lambda: self.at)

    async def emit(self, name: str, payload: Any = None, key: str = "") -> None:
        await self.database.write_all([emit(name, json.dumps(payload), self.at, key=key)])

    async def enqueue(self, *jobs: NewJob) -> None:
        await self.database.write_all([enqueue(one, self.at) for one in jobs])
        await self.pump()

    async def pump(self) -> int:
        return await self.engine.pump(self.route)

    def route(self, event: ProjectEvent) -> list[NewJob]:
        route = self.routes.get(event.name)
        return route(event) if route else []

    async def states(self) -> dict[str, str]:
        rows = await self.database.read("SELECT uid, state FROM _bbops_jobs ORDER BY id")
        return dict(rows)

    async def log(self) -> list[tuple[Any, ...]]:
        """Return the log of events: places, names, keys, payloads."""
        query = "SELECT seq, name, key, payload FROM _bbops_events ORDER BY seq"
        return [*map(tuple, await self.database.read(query))]

    async def ended(self) -> list[tuple[Any, ...]]:
        """Return the jobs that have ended: uids, outcomes, attempts."""
        query = "SELECT uid, outcome, attempts FROM _bbops_job_log ORDER BY id"
        return [*map(tuple, await self.database.read(query))]

    async def records(self) -> int:
        """Return how many results of steps are kept."""
        return int((await self.database.read("SELECT count(*) FROM _bbops_steps"))[0][0])

    async def notes(self) -> list[str]:
        """Return the names of what cases have noted in the database."""
        return [name for (name,) in await self.database.read("SELECT name FROM _bbops_notes")]

    async def claim(self, most: int = 50) -> dict[str, Claim]:
        return {one.uid: one for one in await self.engine.claim(most)}


@pytest.fixture(params=DATABASES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    with place_of(request, tmp_path / "data.sqlite") as place:
        yield place


@pytest.fixture
def bench(place: Place) -> Callable[[Work], None]:
    migrate.apply(place, {})

    async def main(work: Work) -> None:
        if isinstance(place, Path):
            database: Any = await Sqlite.open(place)
            dialect: Any = SqliteWork()
        else:
            database, dialect = await Postgres.open(place), PostgresWork()
        try:
            async with asyncio.timeout(60):
                await work(Bench(database, dialect))
        finally:
            await database.close()

    return lambda work: asyncio.run(main(work))


def job(uid: str, **more: Any) -> NewJob:
    return NewJob(uid, "work", "{}", **more)
