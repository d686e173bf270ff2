"""Workers that are killed at random moments lose no job, write nothing twice and keep the order.

`BBOPS_WORK_KILLS=200` kills as often as the figures in docs/decisions/0072 say.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import psycopg
import pytest

from bbops.database.migrate import migrate
from bbops.database.schema.place import Place, write_place
from bbops.runtime.work.statements import Statement, emit
from tests.support.postgres import DATABASES, new_schema, passing_server
from tests.support.work_storm import KEYS, OVER, opened

KILLS = int(os.environ.get("BBOPS_WORK_KILLS", "16"))
JOBS = 250 * KILLS
PARTS = 2 * KILLS
"""Events come in so many parts, so that each stage of a job is under way at any moment."""
MOST_SECONDS = 0.9
"""Between two kills; a worker needs about half of that to start."""
LONGEST_STANDSTILL = 60
"""Seconds without a call, however long all of them take on a busy machine."""


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


class Filler:
    """Emits the events, a part at a time."""

    def __init__(self, place: Place) -> None:
        self.place, self.filled = write_place(place), 0

    def fill(self, until: int) -> None:
        """Emit events up to one; after the last, say so."""
        every = range(self.filled, min(until, JOBS))
        events = [emit("storm", json.dumps(at), at, key=str(at % KEYS)) for at in every]
        self.filled += len(events)
        asyncio.run(self._write(events))

    async def _write(self, events: list[Statement]) -> None:
        over = "INSERT INTO _bbops_notes (name, text) VALUES (?, '')"
        async with opened(self.place, "filler") as (database, *_):
            is_over = self.filled == JOBS
            await database.write_all([*events, *([(over, (OVER,))] if is_over else [])])


async def numbers_written(place: Place) -> list[int]:
    """Return the number of each row that jobs have written."""
    found, last = list[int](), ""
    query = (
        "SELECT name FROM _bbops_notes WHERE name LIKE '%/%' AND name > ? ORDER BY name LIMIT 900"
    )
    async with opened(write_place(place), "reader") as (database, *_):
        while rows := await database.read(query, (last,)):
            last = rows[-1][0]
            found += [int(name.split("/")[0]) for (name,) in rows]
    return found


@pytest.mark.long
def test_kills_lose_nothing_and_double_nothing(place: Place, tmp_path: Path) -> None:
    migrate.apply(place, {})
    (tmp_path / "mark").touch()  # every worker may be killed before its first call
    filler, storm = Filler(place), Storm(place, tmp_path / "mark")
    kills = ended = 0
    try:
        while kills < KILLS:
            filler.fill((kills + 1) * JOBS // PARTS)
            time.sleep(random.uniform(0, MOST_SECONDS))
            storm.replace_ended()
            kills += storm.kill_one()
            ended += storm.end_backend() if kills % 4 == 0 else 0
        filler.fill(JOBS)
        seen, until = 0, time.monotonic() + LONGEST_STANDSTILL
        while any(one.poll() is None for one in storm.workers) and time.monotonic() < until:
            time.sleep(0.05)
            storm.replace_ended()
            if (size := (tmp_path / "mark").stat().st_size) > seen:
                seen, until = size, time.monotonic() + LONGEST_STANDSTILL
        assert [one.returncode for one in storm.workers] == [0] * len(storm.workers)
    finally:
        storm.close()
    rows = Counter(asyncio.run(numbers_written(place)))
    calls = [line.split() for line in (tmp_path / "mark").read_text().splitlines()]
    outside = Counter(int(number) for number, _ in calls)
    again = len(calls) - JOBS
    print(f"\n{kills} workers and {ended} connections ended, {again} of {JOBS} calls repeated")
    assert rows == Counter(range(JOBS))
    assert outside.keys() == set(range(JOBS))
    assert len({key for _, key in calls}) == len({tuple(call) for call in calls}) == JOBS
    assert again <= 0.02 * JOBS
    assert in_order([int(number) for number, _ in calls])


def in_order(calls: Iterable[int]) -> bool:
    """Return whether the first calls of each lane came in the order of its events."""
    newest: dict[int, int] = {}
    for number in calls:
        before = newest.get(number % KEYS, number % KEYS - KEYS)
        if number not in {before, before + KEYS}:  # the same again, or the next one
            return False
        newest[number % KEYS] = number
    return True
