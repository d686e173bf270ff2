"""`bbops db backup`: whole, checked, and no writer waits for it."""

from __future__ import annotations

import contextlib
import os
import pty
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from bbops.base.errors import DatabaseDamaged, DatabaseError
from bbops.database.files.backup import back_up
from bbops.database.sqlite.gate import Gate
from bbops.source.git import store
from tests.support.database_commands import Commands, titles
from tests.support.patience import wait_for
from tests.support.served import Served
from tests.support.small_project import FILES

MEBIBYTE = 1 << 20


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    files = {name: text.encode() for name, text in FILES.items()}
    store.init(tmp_path / "small", files, message="Start")
    with Served(tmp_path / "small", tmp_path / "home") as server:
        server.live()
        yield server


@pytest.fixture
def commands(tmp_path: Path) -> Commands:
    return Commands(tmp_path / "small", tmp_path / "commands")


def data_of(served: Served) -> Path:
    return served.repository / ".bbops/state/data.sqlite"


class Writers:
    """Threads that add notes to a server until they are told to stop."""

    def __init__(self, url: str, count: int = 3) -> None:
        self.url, self.over = url, threading.Event()
        self.acknowledged: list[str] = []
        self.slowest = 0.0
        self.threads = [threading.Thread(target=self.write, args=(n,)) for n in range(count)]
        for thread in self.threads:
            thread.start()

    def write(self, number: int) -> None:
        with httpx.Client(base_url=self.url, trust_env=False, timeout=30) as client:
            count = 0
            while not self.over.is_set():
                count += 1
                title, begun = f"{number}-{count}", time.perf_counter()
                reply = client.post("/notes", json={"title": title})
                assert reply.status_code == 201, reply.text
                self.slowest = max(self.slowest, time.perf_counter() - begun)
                self.acknowledged.append(title)

    def stop(self) -> None:
        self.over.set()
        for thread in self.threads:
            thread.join()


def fill(path: Path, mebibytes: int) -> None:
    """Make a database of that size, with a note in each row."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA wal_autocheckpoint = 0")  # who checkpoints holds the gate
        connection.execute("CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY, title TEXT)")
        connection.execute("BEGIN")
        rows = ((f"{number} {'x' * 1000}",) for number in range(mebibytes * 1000))
        connection.executemany("INSERT INTO notes (title) VALUES (?)", rows)
        connection.execute("COMMIT")


@pytest.mark.long
def test_what_was_answered_before_a_backup_began_is_in_it(
    served: Served, commands: Commands, tmp_path: Path
) -> None:
    writers, before = Writers(served.serving["url"]), set[str]()
    for number in range(3):
        time.sleep(0.2)
        before = set(writers.acknowledged)
        told = commands.json("backup", tmp_path / f"{number}.sqlite")
        found = titles(tmp_path / f"{number}.sqlite")
        assert before <= found
        assert told["tables"] == {"notes": len(found)}
        assert told["size_bytes"] == (tmp_path / f"{number}.sqlite").stat().st_size
    writers.stop()
    assert len(writers.acknowledged) > len(before) > 0


@pytest.mark.long
def test_no_writer_waits_for_the_copying_of_a_large_database(tmp_path: Path) -> None:
    path = tmp_path / "data.sqlite"
    fill(path, 40)
    waits, told, gate = [], [0], Gate(path)
    with closing(gate), closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("PRAGMA wal_autocheckpoint = 0")

        def write(done: int, of: int) -> None:
            assert told[-1] < done <= of
            told.append(done)
            begun = time.perf_counter()
            with gate:
                writer.execute("INSERT INTO notes (title) VALUES ('meanwhile')")
            waits.append(time.perf_counter() - begun)

        back_up(path, tmp_path / "copy.sqlite", tell=write)
    assert len(waits) >= 10
    assert max(waits) < 0.5
    assert "meanwhile" not in titles(tmp_path / "copy.sqlite")


@pytest.mark.long
def test_the_default_name_has_the_project_and_the_time(served: Served, commands: Commands) -> None:
    done = commands.run("backup")
    (file,) = served.repository.glob("small-*.sqlite")
    assert done.returncode == 0
    assert done.stdout.splitlines()[1].strip() == f"to '{file.name}'"
    assert "rows: notes 0" in done.stdout
    assert len(file.stem) == len("small-20261121T194500Z")
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.long
def test_a_folder_gets_the_default_name(served: Served, commands: Commands, tmp_path: Path) -> None:
    (folder := tmp_path / "backups").mkdir()
    assert Path(commands.json("backup", folder)["file"]).parent == folder
    assert len(list(folder.iterdir())) == 1


@pytest.mark.long
def test_a_backup_is_made_of_a_server_that_has_stopped(
    served: Served, commands: Commands, tmp_path: Path
) -> None:
    served.api.post("/notes", json={"title": "last"})
    served.stop(signal.SIGKILL)
    commands.json("backup", tmp_path / "a.sqlite")
    assert titles(tmp_path / "a.sqlite") == {"last"}


def test_a_file_that_exists_is_never_written_over(tmp_path: Path) -> None:
    fill(tmp_path / "data.sqlite", 1)
    (tmp_path / "a.sqlite").write_text("mine")
    with pytest.raises(DatabaseError, match="exists"):
        back_up(tmp_path / "data.sqlite", tmp_path / "a.sqlite")
    assert (tmp_path / "a.sqlite").read_text() == "mine"


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    fill(tmp_path / "data.sqlite", 1)
    with pytest.raises(DatabaseError, match="no such file or directory"):
        back_up(tmp_path / "data.sqlite", tmp_path / "nowhere/a.sqlite")


def test_a_damaged_database_is_named_and_no_backup_is_left(tmp_path: Path) -> None:
    path, target = tmp_path / "data.sqlite", tmp_path / "copies/a.sqlite"
    target.parent.mkdir()
    fill(path, 2)
    with path.open("r+b") as file:
        file.seek(MEBIBYTE)
        file.write(b"\xff" * 8192)
    with pytest.raises(DatabaseDamaged, match=r"'.*data\.sqlite' is damaged: "):
        back_up(path, target)
    assert list(target.parent.iterdir()) == []


@pytest.mark.long
def test_a_disk_without_room_leaves_nothing_and_is_named(
    served: Served, commands: Commands, tmp_path: Path
) -> None:
    fill(data_of(served), 2)
    (folder := tmp_path / "full").mkdir()

    def bound() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (MEBIBYTE, MEBIBYTE))

    done = commands.run("backup", folder / "a.sqlite", preexec_fn=bound)
    assert (done.returncode, done.stdout) == (2, "")
    assert "cannot copy database" in done.stderr
    assert f"hint: the disk of '{folder}' must have room for all of it" in done.stderr
    assert list(folder.iterdir()) == []
    assert served.api.post("/notes", json={"title": "after"}).status_code == 201


@pytest.mark.long
def test_a_backup_that_is_killed_leaves_no_file_of_its_name_and_the_server_unharmed(
    served: Served, commands: Commands, tmp_path: Path
) -> None:
    fill(data_of(served), 20)
    chance, killed = random.Random(5), 0
    (folder := tmp_path / "copies").mkdir()
    for number in range(6):
        target = folder / f"{number}.sqlite"
        with commands.start("backup", target) as process:
            wait_for(lambda of=number: list(folder.glob(f"*{of}.sqlite*")))
            time.sleep(chance.uniform(0, 0.05))
            process.kill()
        killed += not target.exists()
        if target.exists():
            titles(target)
        title = f"after {number}"
        assert served.api.post("/notes", json={"title": title}).status_code == 201
    assert killed
    commands.json("backup", tmp_path / "last.sqlite")
    assert {f"after {number}" for number in range(6)} <= titles(tmp_path / "last.sqlite")


@pytest.mark.long
def test_a_person_sees_how_far_a_large_backup_is(
    served: Served, commands: Commands, tmp_path: Path
) -> None:
    fill(data_of(served), 70)
    with sqlite3.connect(data_of(served)) as connection, Gate(data_of(served)):
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.close()
    ours, theirs = pty.openpty()
    command = [sys.executable, "-P", "-m", "bbops", "db", "backup", f"{tmp_path}/a.sqlite"]
    process = subprocess.Popen(
        command, cwd=commands.folder, env={**commands.env, "TERM": "xterm", "COLUMNS": "300"},
        stdout=subprocess.PIPE, stderr=theirs,
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # Linux says so that the other end is closed
        while part := os.read(ours, 65_536):
            shown += part
    os.close(ours)
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    assert f"to {tmp_path}".encode() in shown
    assert b"\x1b" not in out


def test_without_data_of_serve_a_backup_names_the_state_of_dev(tmp_path: Path) -> None:
    dev = tmp_path / "small/.bbops/dev"
    dev.mkdir(parents=True)
    with closing(sqlite3.connect(dev / "data.sqlite")) as data:
        data.execute("CREATE TABLE notes (id INTEGER)")
    commands = Commands(tmp_path / "small", tmp_path / "home")
    done = commands.run("shell", "SELECT 1")
    assert done.returncode == 2
    assert done.stderr == (
        "error: there is no data in '.bbops/state'\n"
        "    hint: 'bbops serve' makes it; add '--state .bbops/dev' for the data of 'bbops dev'\n"
    )
    assert commands.run("shell", "SELECT 1", "--state", ".bbops/dev").returncode == 0


def test_without_data_a_backup_says_what_makes_it(tmp_path: Path) -> None:
    (tmp_path / "small").mkdir()
    done = Commands(tmp_path / "small", tmp_path / "home").run("backup")
    assert done.returncode == 2
    assert done.stderr.startswith("error: there is no data in '.bbops/state'\n    hint: ")
    assert list((tmp_path / "small").iterdir()) == []
