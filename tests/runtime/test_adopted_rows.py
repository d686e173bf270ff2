"""Rows and tables that something else wrote: writes happen wholly or not at all, and say so."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bbops.database.sqlite.driver import Sqlite
from bbops.runtime.values.failures import DatabaseFailure, FlowError
from tests.support.sqlite_database import opened

MADE = """
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, seen INTEGER NOT NULL DEFAULT 0);
INSERT INTO notes (id, title) VALUES (1, CAST(x'6361ff66e9' AS TEXT)), (2, 'fine');
CREATE TABLE tags (id INTEGER PRIMARY KEY, name TEXT UNIQUE ON CONFLICT FAIL);
INSERT INTO tags VALUES (1, 'a'), (2, 'b'), (3, 'c');
CREATE TABLE logs (id INTEGER PRIMARY KEY, n INTEGER);
INSERT INTO logs VALUES (1, 1), (2, 2), (3, 3);
CREATE TRIGGER once AFTER UPDATE ON logs WHEN new.n > 11
BEGIN SELECT RAISE(FAIL, 'enough'); END;
"""
READABLE = "ca\ufffdf\ufffd"
SEE = "UPDATE notes SET seen = seen + 1 RETURNING id, title"
Work = Callable[[Sqlite], Awaitable[Any]]


def work_on(tmp_path: Path, work: Work) -> Any:
    path = tmp_path / "data.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(MADE)

    async def main() -> Any:
        async with opened(path) as database:
            return await work(database)

    return asyncio.run(main())


async def alone(database: Sqlite) -> Any:
    return await database.write(SEE)


async def beside_another(database: Sqlite) -> Any:
    other = "UPDATE logs SET n = n"
    return (await asyncio.gather(database.write(other), database.write(SEE)))[1]


async def in_the_thread(database: Sqlite) -> Any:
    return (await database._writer.submit([(SEE, ())], None))[0]


async def in_a_transaction(database: Sqlite) -> Any:
    async with database.transaction() as transaction:
        return await transaction.write(SEE)


@pytest.mark.parametrize("write", [alone, beside_another, in_the_thread, in_a_transaction])
def test_a_write_of_a_text_that_is_not_utf8_is_done_once_and_answered(
    write: Work, tmp_path: Path
) -> None:
    async def work(database: Sqlite) -> None:
        assert await write(database) == [(1, READABLE), (2, "fine")]
        assert await database.read("SELECT seen FROM notes") == [(1,), (1,)]

    work_on(tmp_path, work)


def test_a_text_that_is_not_utf8_is_read(tmp_path: Path) -> None:
    async def work(database: Sqlite) -> None:
        query = "SELECT title FROM notes WHERE id = 1"
        assert await database.read(query) == [(READABLE,)]
        assert await database.rows(query) == [{"title": READABLE}]

    work_on(tmp_path, work)


@pytest.mark.parametrize(
    "statement",
    ["UPDATE tags SET name = CASE id WHEN 1 THEN 'z' ELSE 'c' END",
     "INSERT INTO tags (name) SELECT value FROM json_each('[\"x\", \"a\"]')",
     "UPDATE logs SET n = n + 9"],
)  # fmt: skip
def test_a_table_that_keeps_rows_before_a_failure_keeps_none(
    statement: str, tmp_path: Path
) -> None:
    async def work(database: Sqlite) -> None:
        both = "SELECT name FROM tags UNION ALL SELECT n FROM logs"
        before = await database.read(both)
        with pytest.raises((FlowError, DatabaseFailure)):
            await database.write(statement)
        assert await database.read(both) == before

    work_on(tmp_path, work)


def test_a_failed_statement_leaves_nothing_in_the_transaction_around_it(tmp_path: Path) -> None:
    async def work(database: Sqlite) -> None:
        async with database.transaction() as transaction:
            with pytest.raises(FlowError):
                await transaction.rows("UPDATE logs SET n = n + 9", writes=True)
        assert await database.read("SELECT n FROM logs") == [(1,), (2,), (3,)]

    work_on(tmp_path, work)
