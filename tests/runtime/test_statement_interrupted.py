"""A write that the clock ends on the event loop happens once, at whatever step the clock ends it.

SQLite looks at the clock a last time after a statement is done, and counts the steps of one that
is kept, such as BEGIN, over all its runs: an interrupted statement may have happened.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from bbops.database.sqlite import driver as sqlite
from bbops.database.sqlite import limits
from bbops.database.sqlite.driver import Sqlite

ADD = "INSERT INTO notes (title) VALUES (?)"
COPY = "INSERT INTO notes (title) SELECT title || ? FROM notes WHERE id <= 3"
MOVE = "UPDATE notes SET title = title || ? WHERE id <= 3"
Write = Callable[[Sqlite], Awaitable[Any]]


class Clock:
    """Jumps by more than a statement may take on the loop, at the look with this number."""

    def __init__(self) -> None:
        self.looks, self.jump_at = 0, 0

    def __call__(self) -> float:
        self.looks += 1
        return 100 + (self.looks >= self.jump_at) * 2 * limits.INLINE_SECONDS


async def add(database: Sqlite) -> None:
    assert await database.change(ADD, ("+",)) == 1


async def add_and_read(database: Sqlite) -> None:
    rows = await database.write(f"{ADD} RETURNING title", ("+",))
    assert rows == [("+",)]


async def copy_rows(database: Sqlite) -> None:
    assert await database.change(COPY, ("+",)) == 3


async def copy_and_read(database: Sqlite) -> None:
    rows = await database.write(f"{COPY} RETURNING title", ("+",))
    assert rows == [("1+",), ("2+",), ("3+",)]


async def move_rows(database: Sqlite) -> None:
    assert await database.change(MOVE, ("+",)) == 3


async def delete_with_children(database: Sqlite) -> None:
    assert await database.change("DELETE FROM notes WHERE id = 4") == 1
    assert await database.read("SELECT count(*) FROM words") == [(0,)]


async def add_two_in_a_turn(database: Sqlite) -> None:
    await asyncio.gather(database.write(ADD, ("+",)), database.write(ADD, ("+",)))


async def add_two_one_after_the_other(database: Sqlite) -> None:
    await database.write(ADD, ("+",))
    await database.write(ADD, ("+",))


async def add_two_or_none(database: Sqlite) -> None:
    assert await database.write_all([(ADD, ("+",)), (COPY, ("+",))]) == [[(1,)], [(3,)]]


WRITES: dict[Write, list[str]] = {
    add: ["+"], add_and_read: ["+"], copy_rows: ["1+", "2+", "3+"],
    copy_and_read: ["1+", "2+", "3+"], move_rows: ["1+", "2+", "3+"], delete_with_children: [],
    add_two_in_a_turn: ["+", "+"], add_two_one_after_the_other: ["+", "+"],
    add_two_or_none: ["+", "1+", "2+", "3+"],
}  # fmt: skip


@pytest.mark.parametrize("write", WRITES, ids=lambda write: write.__name__)
def test_a_write_that_is_ended_at_any_step_happens_once(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(limits, "perf_counter", clock)
    monkeypatch.setattr(sqlite, "OPERATIONS_PER_LOOK", 1)

    async def main() -> int:
        database = await Sqlite.open(tmp_path / "data.sqlite")
        try:
            await make_tables(database)
            for step in itertools.count(1):
                await fill(database)
                database._overruns.clear()  # each begins on the loop
                clock.looks, clock.jump_at = 0, step
                await write(database)
                if clock.looks < step:
                    return step
                found = await database.read("SELECT title FROM notes WHERE title LIKE '%+'")
                assert sorted(title for (title,) in found) == sorted(WRITES[write]), step
                assert not database._inline.in_transaction, step
        finally:
            await database.close()
        raise AssertionError

    assert asyncio.run(asyncio.wait_for(main(), 60)) > 10


async def make_tables(database: Sqlite) -> None:
    await database.write("CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT NOT NULL)")
    await database.write(
        "CREATE TABLE words (id INTEGER PRIMARY KEY,"
        " note INTEGER NOT NULL REFERENCES notes (id) ON DELETE CASCADE)"
    )


async def fill(database: Sqlite) -> None:
    await database.write_all([
        ("DELETE FROM words WHERE id > 0", ()), ("DELETE FROM notes WHERE id > 0", ()),
        ("INSERT INTO notes (id, title) VALUES (1, '1'), (2, '2'), (3, '3'), (4, '4')", ()),
        ("INSERT INTO words (note) VALUES (4), (4), (4)", ()),
    ])  # fmt: skip


def test_what_took_too_long_on_the_loop_begins_in_a_thread_for_a_while(tmp_path: Path) -> None:
    endless = "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r LIMIT ?)"
    read = f"{endless} SELECT count(*) FROM r"
    add = f"{endless} INSERT INTO notes (title) SELECT 'x' FROM r WHERE i < 0"

    async def main() -> None:
        database = await Sqlite.open(tmp_path / "data.sqlite")
        looked, tried = list[str](), list[str]()
        database._reader.set_trace_callback(looked.append)
        database._inline.set_trace_callback(tried.append)
        try:
            await make_tables(database)
            for work, said in ((database.read, looked), (database.write, tried)):
                text = read if work == database.read else add
                await work(text, (1_000_000,))
                said.clear()
                for _ in range(8):
                    await work(text, (1,))
                assert said == []
                await work(text, (1,))
                assert len(said) > 0
        finally:
            await database.close()

    asyncio.run(asyncio.wait_for(main(), 60))
