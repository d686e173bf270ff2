"""Rules of rows that fail, rows that are too large, and rows that are kept for their time only."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from bbops.database.migrate import migrate
from bbops.database.open import open_database, work_dialect
from bbops.runtime.work.rows import NO_ROWS
from bbops.source.git import store
from bbops_server.data_plane.realtime.codes import FAILED, LOST
from bbops_server.data_plane.work.row_tail import SHORTEST_SECONDS, RowTail
from tests.support.clock import MovedTimersLoop, move_clock
from tests.support.patience import wait_for
from tests.support.realtime import FILES, Talker, talker
from tests.support.served import Served

THINGS = """
columns:
  id: { type: integer, primaryKey: true }
  rank: { type: integer }
  title: { type: text }
"""
SHARES = """
topic: shares/:part
authentication: None
rows:
  table: things
  where: rank >= 100 / (params.part | toNumber | default(1))
  select: [id, title]
history: { size: 1000, for: 1h }
"""
RULES = FILES | {"tables/things.yaml": THINGS, "realtime/shares.yaml": SHARES}


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("talk")
    store.init(folder / "talk", {name: text.encode() for name, text in RULES.items()}, message="a")
    with Served(folder / "talk", folder / "home") as served:
        served.live()
        yield served


def insert(served: Served, key: int, rank: int, title: str = "t") -> None:
    file = served.repository / ".bbops/state/data.sqlite"
    with closing(sqlite3.connect(file, timeout=30)) as database, database:
        database.execute("INSERT INTO things VALUES (?, ?, ?)", (key, rank, title))


def subscribe(talking: Talker, part: str) -> dict[str, Any]:
    return wait_for(lambda: "epoch" in (found := talking.subscribe(f"shares/{part}")) and found)


def rows(talking: Talker) -> int:
    found: int = talking.push()["pub"]["data"]["payload"]["id"]
    return found


def test_a_rule_that_fails_ends_that_subscription_alone_and_the_log_says_where(
    talk: Served,
) -> None:
    with talker(talk) as ann, talker(talk) as eve:
        subscribe(ann, "1")
        subscribe(eve, "0")
        subscribe(eve, "2")
        insert(talk, 1, 100)
        pushed = [eve.push(), eve.push()]
        ended = next(one for one in pushed if "unsubscribe" in one)
        assert (ended["channel"], ended["unsubscribe"]["code"]) == ("shares/0", FAILED.code)
        assert rows(ann) == 1
        insert(talk, 2, 100)
        assert (rows(ann), rows(eve)) == (2, 2)
    assert "realtime/shares.yaml" in (talk.home / "log").read_text()


def test_a_row_that_is_too_large_is_read_anew_by_who_may_see_it_and_costs_others_nothing(
    talk: Served,
) -> None:
    with talker(talk) as ann, talker(talk) as bob:
        place = subscribe(ann, "1")
        subscribe(bob, "10000")
        insert(talk, 11, 50, "x" * 70_000)  # nobody sees it
        insert(talk, 12, 100, "x" * 70_000)
        insert(talk, 13, 100)
        assert bob.push()["unsubscribe"]["code"] == LOST.code
        assert ann.push()["unsubscribe"]["code"] == LOST.code
        back = ann.subscribe("shares/1", recover=True, epoch=place["epoch"], offset=place["offset"])
        assert back["recovered"] is False
        insert(talk, 14, 100)
        assert rows(ann) == 14


def test_rows_that_were_kept_for_their_time_are_emptied(tmp_path: Path) -> None:
    migrate.apply(tmp_path / "data.sqlite", {})

    async def story() -> None:
        database = await open_database(tmp_path / "data.sqlite")
        told, numbers = list[int](), count(1)
        tail = RowTail(database, work_dialect(database), lambda number, *_: told.append(number))

        async def write(table: str) -> int:
            number = next(numbers)
            await database.change(
                "INSERT INTO _bbops_events VALUES (?, ?, '', ?, 0, '', 0)",
                (number, f"{table}:insert", '{"newRow": {}}'),
            )
            tail.woken.set()
            return number

        async def pass_by(seconds: float) -> None:
            """Let time go, and return once the tail has had a turn then."""
            move_clock(seconds)
            for _ in range(2):  # one after the other: the turn of the first is over
                first = await write("probe")
                while max(told, default=0) < first:
                    await asyncio.sleep(0.01)
                    await write("probe")

        async def kept() -> list[str]:
            found = await database.read(
                "SELECT name FROM _bbops_events WHERE payload <> ? AND name NOT LIKE 'probe:%'"
                " ORDER BY seq", (NO_ROWS,),
            )  # fmt: skip
            return [name.partition(":")[0] for (name,) in found]

        async def becomes(*wanted: str) -> None:
            while await kept() != [*wanted]:
                await asyncio.sleep(0.01)

        await write("other")  # a table that no topic shows any more
        tail.tables = {"short": 0.0, "long": 3600.0, "probe": 0.0}
        task = asyncio.create_task(tail.run())
        await pass_by(0)
        await becomes()
        await write("short")
        await write("long")
        await pass_by(31)
        assert await kept() == ["short", "long"]
        await write("short")
        await pass_by(SHORTEST_SECONDS)
        await becomes("long", "short")
        await pass_by(SHORTEST_SECONDS)
        await becomes("long")
        await pass_by(3600)
        await becomes()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await database.close()

    with asyncio.Runner(loop_factory=MovedTimersLoop) as runner:
        runner.run(story())
