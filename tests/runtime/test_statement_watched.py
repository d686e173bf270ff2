"""The loop ends what takes too long in a thread: there alone, and the thread looks at no clock."""

from __future__ import annotations

import asyncio
import itertools
import sqlite3
import threading
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, closing
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from bbops.database.sqlite import off_loop
from bbops.database.sqlite.driver import Sqlite
from bbops.database.sqlite.gate import Gate
from bbops.database.sqlite.limits import LONGEST_STATEMENT_SECONDS
from bbops.database.sqlite.off_loop import Watch
from bbops.runtime.values.failures import FlowError, StatementTimeout

ADD = "INSERT INTO notes (title) VALUES (?)"
COPY = "INSERT INTO notes (title) SELECT title || ? FROM notes WHERE id <= 3"
ENDLESS = "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r)"
COUNT = f"{ENDLESS} SELECT count(*) FROM (SELECT i FROM r LIMIT 300000)"
ENDLESS_COPY = f"{ENDLESS} INSERT INTO notes (title) SELECT ? FROM r WHERE i < 0"
Write = Callable[[Sqlite], Awaitable[Any]]


def run(tmp_path: Path, work: Callable[[Sqlite], Awaitable[None]]) -> None:
    async def main() -> None:
        database = await Sqlite.open(tmp_path / "data.sqlite")
        try:
            await database.write("CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT NOT NULL)")
            await database.write("INSERT INTO notes (title) VALUES ('1'), ('2'), ('3')")
            async with asyncio.timeout(60):
                await work(database)
        finally:
            await database.close()

    asyncio.run(main())


async def added(database: Sqlite) -> list[str]:
    rows = await database.read("SELECT title FROM notes WHERE id > 3 ORDER BY title")
    return [title for (title,) in rows]


# ---- what a statement in a thread takes of the interpreter
async def read(database: Sqlite) -> None:
    assert await database._slow.read(COUNT, (), lambda cursor: cursor.fetchall()) == [(300_000,)]


async def write(database: Sqlite) -> None:
    await database._writer.submit([(COUNT, ()), (ADD, ("+",))], None)


async def write_in_a_transaction(database: Sqlite) -> None:
    async with database.transaction() as transaction:
        await transaction.write_all([(COUNT, ()), (ADD, ("+",))])


@pytest.mark.parametrize("work", [read, write, write_in_a_transaction])
def test_a_statement_of_millions_of_steps_runs_hardly_any_python(
    work: Write, tmp_path: Path
) -> None:
    calls = list[str]()

    def count(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            calls.append(frame.f_code.co_name)

    async def main(database: Sqlite) -> None:
        await work(database)  # opens what is opened once
        before = len(calls)
        await work(database)
        # a look at the clock for each thousand steps would be 4,000
        assert 0 < len(calls) - before < 500

    threading.setprofile(count)
    try:
        run(tmp_path, main)
    finally:
        threading.setprofile(None)


# ---- an interrupt at any moment
class Steps:
    """A clock that jumps at the step of SQLite with this number, and a watch that sees it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.made, self.jump_at = 0, 0
        self.watches = list[Watch]()
        begin = Watch.on

        def on(by: Watch, connection: sqlite3.Connection) -> AbstractContextManager[None]:
            self.watches.append(by)
            return begin(by, connection)

        monkeypatch.setattr(Watch, "on", on)
        monkeypatch.setattr(off_loop, "monotonic", self.now)

    def now(self) -> float:
        return 100 + (self.made >= self.jump_at) * 2 * LONGEST_STATEMENT_SECONDS

    def __call__(self) -> None:
        self.made += 1
        if self.made == self.jump_at:
            for by in self.watches:
                by._interrupt_if_late()


Outcomes = list[tuple[list[str], Any]]
"""The titles that each write would add, and what became of it."""


async def write_three_in_a_commit(database: Sqlite) -> Outcomes:
    jobs = {
        "a": [(ADD, ("a",))], "b": [(COPY, ("b",)), (ADD, ("b",))], "c": [(ADD, ("c",))],
    }  # fmt: skip
    with closing(Gate(database._path)) as gate, gate:
        answers = [
            asyncio.ensure_future(database._writer.submit(job, None)) for job in jobs.values()
        ]
        await asyncio.sleep(0)
    outcomes = await asyncio.gather(*answers, return_exceptions=True)
    titles = [["a"], ["1b", "2b", "3b", "b"], ["c"]]
    return list(zip(titles, outcomes, strict=True))


async def write_alone(database: Sqlite) -> Outcomes:
    job = database._writer.submit([(COPY, ("b",)), (ADD, ("b",))], None)
    (outcome,) = await asyncio.gather(job, return_exceptions=True)
    return [(["1b", "2b", "3b", "b"], outcome)]


async def write_twice_in_a_transaction(database: Sqlite) -> Outcomes:
    async def work() -> None:
        async with database.transaction() as transaction:
            await transaction.write(ADD, ("b",))
            await transaction.write(COPY, ("b",))

    (outcome,) = await asyncio.gather(work(), return_exceptions=True)
    return [(["1b", "2b", "3b", "b"], outcome)]


@pytest.mark.parametrize(
    "work", [write_three_in_a_commit, write_alone, write_twice_in_a_transaction]
)
def test_a_write_that_is_interrupted_at_any_step_happens_once_or_not_at_all(
    work: Callable[[Sqlite], Awaitable[Outcomes]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps, ended = Steps(monkeypatch), 0

    async def main(database: Sqlite) -> None:
        nonlocal ended
        for connection in (database._writer._connection, database._transactions._open()):
            connection.set_progress_handler(steps, 1)
        for step in itertools.count(1):
            steps.made, steps.jump_at = 0, step
            outcomes = await work(database)
            if steps.made < step:
                break
            late = [error for _, error in outcomes if isinstance(error, StatementTimeout)]
            assert len(late) == sum(isinstance(error, Exception) for _, error in outcomes) <= 1
            done = [titles for titles, error in outcomes if not isinstance(error, Exception)]
            assert await added(database) == sorted(itertools.chain(*done)), step
            assert not database._writer._connection.in_transaction
            await database.change("DELETE FROM notes WHERE id > 3")
            steps.watches.clear()
            ended += len(late)

    run(tmp_path, main)
    assert ended > 10


# ---- the clock of the loop
def test_a_write_over_its_time_takes_none_along_that_shares_its_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(off_loop, "LONGEST_STATEMENT_SECONDS", 0.2)

    async def main(database: Sqlite) -> None:
        with closing(Gate(database._path)) as gate, gate:
            answers = [
                asyncio.ensure_future(database._writer.submit([(sql, (title,))], None))
                for sql, title in ((ADD, "a"), (ENDLESS_COPY, "b"), (ADD, "c"))
            ]
            await asyncio.sleep(0)
        first, endless, last = await asyncio.gather(*answers, return_exceptions=True)
        assert (first, last) == ([[(1,)]], [[(1,)]])
        assert isinstance(endless, StatementTimeout)
        assert await added(database) == ["a", "c"]

    run(tmp_path, main)


def test_a_transaction_over_its_time_is_undone_and_the_next_one_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(off_loop, "LONGEST_STATEMENT_SECONDS", 0.2)

    async def write_and_fail(database: Sqlite) -> None:
        async with database.transaction() as transaction:
            await transaction.write(ADD, ("a",))
            with pytest.raises(StatementTimeout):
                await transaction.write(ENDLESS_COPY, ("b",))

    async def main(database: Sqlite) -> None:
        with pytest.raises(FlowError, match="rolled back"):
            await write_and_fail(database)
        async with database.transaction() as transaction:
            await transaction.write(ADD, ("c",))
        assert await added(database) == ["c"]

    run(tmp_path, main)


def test_a_statement_that_nobody_waits_for_is_ended(tmp_path: Path) -> None:
    async def in_a_transaction(database: Sqlite) -> None:
        async with database.transaction() as transaction:
            await transaction.write(ENDLESS_COPY, ("b",))

    async def off_the_loop(database: Sqlite) -> None:
        await database._slow.read(f"{ENDLESS} SELECT count(*) FROM r", (), list)

    async def main(database: Sqlite) -> None:
        for work in (in_a_transaction, off_the_loop):
            working = asyncio.ensure_future(work(database))
            await asyncio.sleep(0.05)
            working.cancel()
            await asyncio.wait({working})
        async with database.transaction() as transaction:  # there is one thread for all of them
            await transaction.write(ADD, ("c",))
        assert await added(database) == ["c"]

    run(tmp_path, main)  # closing waits for what still runs


def test_what_was_given_up_before_it_began_does_not_begin(tmp_path: Path) -> None:
    async def main(database: Sqlite) -> None:
        given_up = Watch(asyncio.get_running_loop())
        with pytest.raises(asyncio.CancelledError), given_up.wait():
            raise asyncio.CancelledError
        with pytest.raises(StatementTimeout), given_up.on(database._writer._connection):
            raise AssertionError

    run(tmp_path, main)
