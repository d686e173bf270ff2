"""Writes of one turn of the event loop share a transaction, and nothing else."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from bbops.database.sqlite.driver import Sqlite
from bbops.runtime.values.failures import DatabaseFailure

ADD = "INSERT INTO notes (id, title) VALUES (?, ?) RETURNING id"


def run(
    tmp_path: Path, work: Callable[[Sqlite, list[str]], Awaitable[None]]
) -> list[tuple[Any, ...]]:
    """Work on a database; return the rows it then has."""
    path = tmp_path / "data.sqlite"

    async def main() -> None:
        database = await Sqlite.open(path)
        await database.write("CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT NOT NULL)")
        said: list[str] = []
        database._inline.set_trace_callback(said.append)
        try:
            await work(database, said)
        finally:
            await database.close()

    asyncio.run(main())
    return sqlite3.connect(path).execute("SELECT id, title FROM notes ORDER BY id").fetchall()


def commits(said: list[str]) -> int:
    return sum(one == "COMMIT" for one in said)


def test_writes_that_come_together_share_a_commit(tmp_path: Path) -> None:
    async def work(database: Sqlite, said: list[str]) -> None:
        await asyncio.gather(*(database.write(ADD, (at, "x")) for at in range(100)))
        assert commits(said) == 1

    assert len(run(tmp_path, work)) == 100


def test_a_write_that_comes_alone_has_no_transaction_around_it(tmp_path: Path) -> None:
    async def work(database: Sqlite, said: list[str]) -> None:
        for at in range(5):
            await database.write(ADD, (at, "x"))
            await asyncio.sleep(0.001)
        assert commits(said) == 0

    assert len(run(tmp_path, work)) == 5


def test_each_gets_its_own_rows(tmp_path: Path) -> None:
    async def work(database: Sqlite, _: list[str]) -> None:
        rows = await asyncio.gather(*(database.write(ADD, (at, "x")) for at in range(20)))
        assert rows == [[(at,)] for at in range(20)]

    run(tmp_path, work)


def test_one_that_breaks_a_rule_takes_none_along(tmp_path: Path) -> None:
    async def work(database: Sqlite, _: list[str]) -> None:
        titles = ["a", None, "b", None, "c"]
        writes = (database.write(ADD, (at, title)) for at, title in enumerate(titles))
        found = await asyncio.gather(*writes, return_exceptions=True)
        assert [isinstance(one, DatabaseFailure) for one in found] == [
            title is None for title in titles
        ]

    assert run(tmp_path, work) == [(0, "a"), (2, "b"), (4, "c")]


def test_one_that_takes_too_long_for_the_loop_takes_none_along(tmp_path: Path) -> None:
    long = (
        "INSERT INTO notes (id, title) WITH RECURSIVE n(i) AS"
        " (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000)"
        " SELECT max(i), 'long' FROM n"
    )

    async def work(database: Sqlite, _: list[str]) -> None:
        short = [database.write(ADD, (at, "x")) for at in range(5)]
        await asyncio.gather(*short, database.write(long), database.write(ADD, (5, "x")))

    found = run(tmp_path, work)
    assert found == [*((at, "x") for at in range(6)), (300_000, "long")]


def test_a_cancelled_write_leaves_the_others(tmp_path: Path) -> None:
    async def work(database: Sqlite, _: list[str]) -> None:
        tasks = [asyncio.create_task(database.write(ADD, (at, "x"))) for at in range(10)]
        await asyncio.sleep(0)
        tasks[3].cancel()
        found = await asyncio.gather(*tasks, return_exceptions=True)
        assert [at for at, one in enumerate(found) if isinstance(one, BaseException)] == [3]

    assert {at for at, _ in run(tmp_path, work)} >= set(range(10)) - {3}


def test_what_another_holds_back_is_written_by_the_thread(tmp_path: Path) -> None:
    async def work(database: Sqlite, _: list[str]) -> None:
        other = sqlite3.connect(tmp_path / "data.sqlite", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        writes = asyncio.gather(*(database.write(ADD, (at, "x")) for at in range(10)))
        await asyncio.sleep(0.05)
        assert not writes.done()
        other.execute("ROLLBACK")
        await writes

    assert len(run(tmp_path, work)) == 10


def test_a_transaction_of_several_statements_waits_for_none_and_loses_none(tmp_path: Path) -> None:
    async def work(database: Sqlite, _: list[str]) -> None:
        single = [database.write(ADD, (at, "x")) for at in range(10)]
        several = [
            database.write_all([(ADD, (100 + at, "x")), (ADD, (200 + at, "x"))]) for at in range(10)
        ]
        mixed = [one for pair in zip(single, several, strict=True) for one in pair]
        await asyncio.gather(*mixed)

    assert len(run(tmp_path, work)) == 30


@pytest.mark.parametrize("verb", ["ROLLBACK", "ABORT", "FAIL"])
def test_what_was_written_is_there_whatever_a_conflict_does(tmp_path: Path, verb: str) -> None:
    async def work(database: Sqlite, _: list[str]) -> None:
        clash = f"INSERT OR {verb} INTO notes (id, title) VALUES (0, 'clash')"
        writes = [database.write(ADD, (at, "x")) for at in range(5)]
        found = await asyncio.gather(*writes, database.write(clash), return_exceptions=True)
        assert [isinstance(one, Exception) for one in found] == [False] * 5 + [True]

    assert run(tmp_path, work) == [(at, "x") for at in range(5)]


@pytest.mark.parametrize("why", ["conflict", "full"])
def test_what_undoes_all_of_a_turn_lets_each_other_write_happen_once(
    tmp_path: Path, why: str
) -> None:
    async def work(database: Sqlite, _: list[str]) -> None:
        await database.write("CREATE TABLE calls (n INTEGER)")
        await database.write(
            "CREATE TABLE odd (name TEXT UNIQUE ON CONFLICT ROLLBACK, text TEXT DEFAULT '')"
        )
        await database.write("INSERT INTO odd (name) VALUES ('there')")
        wrong = "INSERT INTO odd (name) VALUES ('there')"
        if why == "full":
            wrong = "INSERT INTO odd (name, text) VALUES ('long', hex(zeroblob(200000)))"
            for connection in (database._inline, database._writer._connection):
                (pages,) = connection.execute("PRAGMA page_count").fetchone()
                connection.execute(f"PRAGMA max_page_count = {pages + 2}")
        call = "INSERT INTO calls (n) VALUES (1)"
        writes = [database.write(one) for one in (call, call, wrong, call, wrong, call)]
        found = await asyncio.gather(*writes, return_exceptions=True)
        assert [isinstance(one, Exception) for one in found] == [0, 0, 1, 0, 1, 0]
        assert await database.read("SELECT count(*) FROM calls") == [(4,)]
        assert not database._inline.in_transaction

    run(tmp_path, work)
