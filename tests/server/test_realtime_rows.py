"""Topics about rows: each subscriber sees what a SELECT by the rule would show, never more."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bbops.database.postgres.opened import drop_schema
from bbops.database.schema.place import PostgresPlace
from bbops.source.git import store
from tests.support.patience import eventually, patience, wait_for
from tests.support.postgres import DATABASES, control_of
from tests.support.realtime import login, processes, talker
from tests.support.served import Served
from tests.support.topic_rows import ROWS, TEAMS, USERS, Program, Watcher

pytestmark = pytest.mark.long

Start = Callable[..., Served]


@pytest.fixture
def board(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Start]:
    """Return what starts a server on the project, also on one that was stopped."""
    on_postgres = request.param == "postgres"
    schema: PostgresPlace | None = request.getfixturevalue("schema") if on_postgres else None
    files = {name: text.encode() for name, text in ROWS.items()}
    store.init(tmp_path / "board", files, message="Start")
    running: list[Served] = []

    def start(*arguments: str) -> Served:
        given = ["--schema", schema.schema] if schema else []
        env = {"DATABASE_URL": schema.url} if schema else {}
        served = Served(tmp_path / "board", tmp_path / "home", *arguments, *given, env=env)
        running.append(served)
        served.live()
        return served

    start.schema = schema  # type: ignore[attr-defined]
    yield start
    for one in running:
        if one.process.poll() is None:
            one.stop()
    if schema is not None:
        drop_schema(control_of(schema))


@pytest.mark.parametrize("board", DATABASES, indirect=True)
def test_500_changes_and_50_subscribers_while_a_data_process_is_killed_and_releases_go_live(
    board: Start,
) -> None:
    served = board("--workers", "2")

    async def story() -> None:
        program = Program(served, board.schema, seed=7)  # type: ignore[attr-defined]
        watchers = [
            Watcher(served, USERS[number % 4], TEAMS[number % 3]) for number in range(50)
        ]  # fmt: skip
        tasks = [asyncio.create_task(one.run()) for one in watchers]
        async with patience():
            await asyncio.gather(*(one.is_there.wait() for one in watchers))
            for part in range(5):
                await asyncio.to_thread(program.change, 100)
                if part == 1:
                    os.kill(processes(served)[0], signal.SIGKILL)
                if part == 3:
                    await asyncio.to_thread(publish, served)
            expected = [program.oracle.seen(one.team, one.user) for one in watchers]
            counts = [len(one) for one in expected]
            await eventually(lambda: [len(one.seen) for one in watchers] == counts)
        for one, wanted in zip(watchers, expected, strict=True):
            assert one.seen == wanted
            assert one.lost == 0
        assert len(program.oracle.changes) >= 500
        await ended(tasks)

    asyncio.run(story())


async def ended(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def publish(served: Served) -> None:
    text = "input: { text: string }\nsteps:\n  - log: { message: '${ input.text }' }\n"
    (served.repository / "functions/tell.yaml").write_text(text)
    served.commit()
    served.live()


@pytest.mark.parametrize("board", ["sqlite"], indirect=True)
def test_who_comes_back_after_a_restart_of_the_server_gets_what_was_missed(board: Start) -> None:
    served = board()
    program = Program(served, None, seed=3)

    async def watch(one: Watcher, until: int) -> None:
        task = asyncio.create_task(one.run())
        async with patience():
            await one.is_there.wait()
            await eventually(lambda: len(one.seen) >= until)
        await ended([task])

    def seen() -> int:
        return len(program.oracle.seen("a", "ada"))

    watcher = Watcher(served, "ada", "a")
    asyncio.run(watch(watcher, 0))
    watcher.is_there = asyncio.Event()
    program.change(40)
    asyncio.run(watch(watcher, seen()))
    program.change(40)
    wait_for(lambda: pumped(program))
    served.stop(signal.SIGKILL)
    program.served = watcher.served = board()
    program.change(5)
    watcher.is_there = asyncio.Event()
    asyncio.run(watch(watcher, seen()))
    assert watcher.seen == program.oracle.seen("a", "ada")
    assert watcher.lost == 0


def pumped(program: Program) -> bool:
    file = program.served.repository / ".bbops/state/data.sqlite"
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database:
        return bool(database.execute("SELECT count(*) FROM _bbops_outbox").fetchone() == (0,))


@pytest.mark.parametrize("board", ["sqlite"], indirect=True)
def test_the_log_keeps_what_is_shown_and_nothing_private(board: Start) -> None:
    served = board()
    program = Program(served, None, seed=1)
    program.change(20)
    wait_for(lambda: pumped(program))
    file = served.repository / ".bbops/state/data.sqlite"
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database:
        kept = database.execute("SELECT payload FROM _bbops_events").fetchall()
    assert len(kept) >= 20
    assert "secret" not in str(kept)
    with talker(served) as eve:
        assert eve.subscribe("teams/a/board")["error"]["code"] == 101


@pytest.mark.parametrize("board", ["sqlite"], indirect=True)
def test_who_comes_back_after_a_restore_hears_that_it_must_read_anew(
    board: Start, tmp_path: Path
) -> None:
    served = board()
    program = Program(served, None, seed=5)
    program.change(10)
    wait_for(lambda: pumped(program))
    backup = str(tmp_path / "backup.sqlite")
    with talker(served, login(served, "ada")) as ada:
        place = ada.subscribe("teams/a/board")
    state = ["--state", str(served.repository / ".bbops/state")]
    assert served.bbops("db", "backup", backup, *state).returncode == 0
    program.change(10)
    served.stop()
    assert served.bbops("db", "restore", backup, *state).returncode == 0
    served = board()
    with talker(served, login(served, "ada")) as ada:
        wait_for(lambda: "epoch" in ada.subscribe("teams/b/board"))
        back = ada.subscribe("teams/a/board", recover=True, epoch=place["epoch"], offset=3)
        assert (back["recovered"], back["epoch"] != place["epoch"]) == (False, True)
