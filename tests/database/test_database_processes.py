"""Several processes on one file: nobody fails, nobody starves, and a killed one leaves no lock."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from bbops.database.migrate import migrate
from bbops.database.sqlite.gate import Gate
from tests.conftest import ROOT
from tests.support.sqlite_database import TABLES, is_free, opened


@pytest.fixture
def path(tmp_path: Path) -> Path:
    migrate.apply(tmp_path / "data.sqlite", TABLES)
    return tmp_path / "data.sqlite"


WORKER = """
import asyncio, json, sys
from pathlib import Path
from bbops.database.sqlite.driver import Sqlite

async def one(database, n):
    await database.write("INSERT INTO counts VALUES (?)", (n,))
    await database.read("SELECT count(*) FROM counts")
    await database.write("UPDATE users SET email = email || '' WHERE id = 1")

async def main():
    database = await Sqlite.open(Path(sys.argv[1]), durability=sys.argv[2])
    results = await asyncio.gather(*(one(database, n) for n in range(200)), return_exceptions=True)
    await database.close()
    print(json.dumps([repr(r) for r in results if r is not None]))

asyncio.run(main())
"""


def test_processes_contend_without_an_error(path: Path) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, path, durability], stdout=subprocess.PIPE, cwd=ROOT
        )
        for durability in ("normal", "normal", "normal", "full")
    ]
    errors = [json.loads(process.communicate(timeout=60)[0]) for process in processes]
    assert errors == [[], [], [], []]
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM counts").fetchall() == [(800,)]
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


IN_TURN = """
import asyncio, sys, time
from pathlib import Path
from bbops.database.sqlite.driver import Sqlite

async def main():
    database = await Sqlite.open(Path(sys.argv[1]))
    print("ready", flush=True)
    sys.stdin.readline()
    until = time.monotonic() + 2
    while time.monotonic() < until:
        await database.write("INSERT INTO counts VALUES (?)", (int(sys.argv[2]),))
    await database.close()

asyncio.run(main())
"""


@pytest.mark.long
def test_four_processes_that_write_get_their_share(path: Path) -> None:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "cwd": ROOT}
    processes = [
        subprocess.Popen([sys.executable, "-c", IN_TURN, path, str(number)], **pipes)
        for number in range(4)
    ]
    for process in processes:
        assert process.stdout.readline() == b"ready\n"
    for process in processes:
        process.stdin.write(b"go\n")
        process.stdin.flush()
    assert [process.wait(60) for process in processes] == [0, 0, 0, 0]
    for process in processes:
        process.stdin.close()
        process.stdout.close()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        counted = connection.execute("SELECT count(*) FROM counts GROUP BY n").fetchall()
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert len(counted) == 4
    assert min(counted)[0] * 4 > max(counted)[0], counted


HOLDER = """
import sys, time
from pathlib import Path
from bbops.database.sqlite.connection import connect
from bbops.database.sqlite.gate import Gate
path = Path(sys.argv[1])
gate, connection = Gate(path), connect(path)
gate.take()
connection.execute("BEGIN IMMEDIATE")
connection.execute("INSERT INTO counts VALUES (1)")
print("held", flush=True)
time.sleep(60)
"""


def test_a_killed_process_leaves_the_gate_free(path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, path], stdout=subprocess.PIPE, cwd=ROOT
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        gate = Gate(path)
        assert not gate.try_take()
        gate.close()
        holder.send_signal(signal.SIGKILL)
    assert is_free(path)

    async def main() -> None:
        async with opened(path) as database:
            await database.write("INSERT INTO counts VALUES (2)")
            assert await database.read("SELECT n FROM counts") == [(2,)]

    asyncio.run(main())
