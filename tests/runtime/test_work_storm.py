"""Workers that are killed at random moments lose no job, write nothing twice and keep the order."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from bbops.database.migrate import migrate
from bbops.database.schema.place import Place, write_place
from bbops.runtime.work.outbox import emit
from tests.support.postgres import DATABASES, new_schema, passing_server
from tests.support.work_storm import KEYS, opened

JOBS, KILLS = 3_000, 12


@pytest.fixture(params=DATABASES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    if request.param == "sqlite":
        yield tmp_path / "data.sqlite"
        return
    with passing_server(tmp_path / "postgres") as url, new_schema(url) as place:
        yield place  # of a server of its own, whose connections it may end


class Storm:
    """Three workers, or the one of SQLite; who is killed is replaced."""

    def __init__(self, place: Place, mark: Path) -> None:
        self.place, self.mark, self.started = place, mark, 0
        self.workers = [self.start() for _ in range(1 if isinstance(place, Path) else 3)]

    def start(self) -> subprocess.Popen[bytes]:
        self.started += 1
        given = [write_place(self.place), f"w{self.started}", str(self.mark)]
        return subprocess.Popen([sys.executable, "-m", "tests.support.work_storm", *given])

    def kill_one(self) -> bool:
        at = random.randrange(len(self.workers))
        if self.workers[at].poll() is not None:
            return False
        self.workers[at].kill()
        self.workers[at].wait()
        self.workers[at] = self.start()
        return True

    def calls(self) -> int:
        """Return how many calls outside have been made."""
        return len(self.mark.read_bytes().split()) if self.mark.exists() else 0

    def replace_ended(self) -> None:
        for at, one in enumerate(self.workers):
            if one.poll() not in {None, 0}:
                self.workers[at] = self.start()

    def end_backend(self) -> int:
        """End a connection of some worker, as a network does; return how many."""
        if isinstance(self.place, Path):
            return 0
        with psycopg.connect(self.place.url, autocommit=True) as live:
            found = live.execute(
                "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
                " AND pid <> pg_backend_pid() AND query ~ '_bbops_jobs|advisory_lock'"
            ).fetchall()
            if not found:
                return 0
            (pid,) = random.choice(found)
            live.execute("SELECT pg_terminate_backend(%s)", [pid])
        return 1

    def close(self) -> None:
        for one in self.workers:
            one.kill()
            one.wait()


async def fill(place: Place) -> None:
    async with opened(write_place(place), "filler") as (database, *_):
        events = [emit("storm", json.dumps(at), at, key=str(at % KEYS)) for at in range(JOBS)]
        await database.write_all(events)


async def written(place: Place) -> list[str]:
    async with opened(write_place(place), "reader") as (database, *_):
        rows = await database.read("SELECT name FROM _bbops_notes WHERE name LIKE '%/%'")
        return [row[0] for row in rows]


@pytest.mark.long
def test_kills_lose_nothing_and_double_nothing(place: Place, tmp_path: Path) -> None:
    migrate.apply(place, {})
    asyncio.run(fill(place))
    storm, until = Storm(place, tmp_path / "mark"), time.monotonic() + 240
    kills = ended = 0
    try:
        while any(one.poll() is None for one in storm.workers) and time.monotonic() < until:
            time.sleep(0.05)
            storm.replace_ended()
            if kills < KILLS and storm.calls() > kills * JOBS / (KILLS + 1):
                kills += storm.kill_one()
                ended += storm.end_backend() if kills % 4 == 0 else 0
        assert [one.returncode for one in storm.workers] == [0] * len(storm.workers)
    finally:
        storm.close()
    rows = Counter(int(name.split("/")[0]) for name in asyncio.run(written(place)))
    outside = Counter(map(int, (tmp_path / "mark").read_text().split()))
    again = sum(outside.values()) - JOBS
    print(f"\n{kills} workers and {ended} connections ended, {again} of {JOBS} calls repeated")
    assert kills == KILLS
    assert rows == Counter(range(JOBS))
    assert outside.keys() == set(range(JOBS))
    assert again <= 0.1 * JOBS
    assert in_order(tmp_path / "mark")


def in_order(mark: Path) -> bool:
    """Return whether the first calls of each lane came in the order of its events."""
    newest: dict[int, int] = {}
    for number in map(int, mark.read_text().split()):
        before = newest.get(number % KEYS, number % KEYS - KEYS)
        if number not in {before, before + KEYS}:  # the same again, or the next one
            return False
        newest[number % KEYS] = number
    return True
