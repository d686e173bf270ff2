"""`bbops db restore`: the old data or the new, never a mixture, and the old is kept."""

from __future__ import annotations

import random
import resource
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from bbops.database.files.backup import back_up
from bbops.database.files.restore import restore
from bbops.database.migrate import migrate
from bbops.language.resources.table import Table
from bbops.source.git import store
from tests.support.database_commands import Commands, titles
from tests.support.patience import wait_for
from tests.support.served import Served
from tests.support.small_project import FILES

MEBIBYTE = 1 << 20
NOTES = {
    "notes": Table.model_validate(
        {
            "columns": {
                "id": {"type": "integer", "primaryKey": True, "auto": "increment"},
                "title": {"type": "string"},
            }
        }
    )
}

# ends itself, as `kill -9` would, right before it touches the disk for the n-th time
DYING = """
import os, signal, sys
from pathlib import Path
from bbops.database.files.restore import restore

left = int(sys.argv[3])

def watch(event, arguments):
    global left
    if event in {"open", "os.remove", "os.rename", "shutil.copyfile", "sqlite3.connect"}:
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

data, file = map(Path, sys.argv[1:3])
sys.addaudithook(watch)
restore(data, file, data.with_name("data.sqlite.before-first"))
"""


@pytest.fixture
def commands(tmp_path: Path) -> Commands:
    """Commands of a project that is not served."""
    (tmp_path / "small").mkdir()
    (tmp_path / "small/project.yaml").write_text(FILES["project.yaml"])
    return Commands(tmp_path / "small", tmp_path / "commands")


@pytest.fixture
def data(commands: Commands) -> Path:
    """Its data, one note called `old`, in the log of a server that was killed."""
    (state := commands.folder / ".bbops/state").mkdir(parents=True)
    make(state / "data.sqlite", "old", in_log=True)
    return state / "data.sqlite"


def make(path: Path, *notes: str, in_log: bool = False) -> Path:
    """Make a project's data."""
    migrate.apply(path, NOTES)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute("BEGIN")
        connection.executemany("INSERT INTO notes (title) VALUES (?)", [(one,) for one in notes])
        connection.execute("COMMIT")
        log = path.with_name(f"{path.name}-wal")
        held = (path.read_bytes(), log.read_bytes())
    if in_log:
        path.write_bytes(held[0])
        log.write_bytes(held[1])
    return path


def backup_of(folder: Path, *notes: str) -> Path:
    """Make a backup that holds these notes."""
    back_up(make(folder / "source.sqlite", *notes), folder / "backup.sqlite")
    return folder / "backup.sqlite"


def kept(data: Path) -> Path:
    (found,) = data.parent.glob("data.sqlite.before-*")
    return found


@pytest.mark.long
def test_a_running_server_is_never_robbed_of_its_data(tmp_path: Path) -> None:
    files = {name: text.encode() for name, text in FILES.items()}
    store.init(tmp_path / "small", files, message="Start")
    commands = Commands(tmp_path / "small", tmp_path / "commands")
    with Served(tmp_path / "small", tmp_path / "home") as served:
        served.live()
        served.api.post("/notes", json={"title": "one"})
        commands.json("backup", tmp_path / "backup.sqlite")
        served.api.post("/notes", json={"title": "two"})
        refused = commands.run("restore", tmp_path / "backup.sqlite")
        assert refused.returncode == 2
        assert "error: another server is using the state folder" in refused.stderr
        assert f"'kill {served.process.pid}'" in refused.stderr
        assert len(served.api.get("/notes").json()) == 2
    told = commands.json("restore", tmp_path / "backup.sqlite")
    assert told["tables"] == {"notes": 1}
    assert titles(Path(commands.folder, told["kept"])) == {"one", "two"}
    with Served(tmp_path / "small", tmp_path / "home") as served:
        wait_for(lambda: served.api.get("/notes").status_code == 200)
        assert [one["title"] for one in served.api.get("/notes").json()] == ["one"]
        assert served.api.post("/notes", json={"title": "three"}).status_code == 201


@pytest.mark.long
def test_what_came_after_the_backup_is_made_when_the_server_starts(tmp_path: Path) -> None:
    files = {name: text.encode() for name, text in FILES.items()}
    store.init(tmp_path / "small", files, message="Start")
    commands = Commands(tmp_path / "small", tmp_path / "commands")
    with Served(tmp_path / "small", tmp_path / "home") as served:
        served.live()
        served.api.post("/notes", json={"title": "one"})
        commands.json("backup", tmp_path / "backup.sqlite")
        table = tmp_path / "small/tables/notes.yaml"
        table.write_text(table.read_text() + "  more: { type: string, default: x }\n")
        commit = served.commit()
        assert served.live_of(commit)
        served.api.post("/notes", json={"title": "two"})
    commands.json("restore", tmp_path / "backup.sqlite")
    with Served(tmp_path / "small", tmp_path / "home") as served:
        wait_for(lambda: served.api.get("/notes").status_code == 200)
        wait_for(lambda: served.status()["release"] == commit[:12])
        assert served.api.post("/notes", json={"title": "three"}).json()["more"] == "x"
        found = {one["title"]: one["more"] for one in served.api.get("/notes").json()}
        assert found == {"one": "x", "three": "x"}


def test_what_was_there_is_kept_whole_with_what_was_in_its_log(
    commands: Commands, data: Path, tmp_path: Path
) -> None:
    done = commands.run("restore", backup_of(tmp_path, "new"))
    assert (done.returncode, done.stderr) == (0, "")
    assert "rows: notes 1" in done.stdout
    assert f"kept in '.bbops/state/{kept(data).name}'" in done.stdout
    assert titles(data) == {"new"}
    assert titles(kept(data)) == {"old"}


def test_what_was_kept_can_be_restored_itself(
    commands: Commands, data: Path, tmp_path: Path
) -> None:
    commands.json("restore", backup_of(tmp_path, "new"))
    (old := tmp_path / "old.sqlite").write_bytes(kept(data).read_bytes())
    commands.json("restore", old)
    assert titles(data) == {"old"}


@pytest.mark.long
def test_a_file_that_was_copied_with_its_log_is_restored_with_it(
    commands: Commands, data: Path, tmp_path: Path
) -> None:
    file = make(tmp_path / "copied.sqlite", "in the log", in_log=True)
    commands.json("restore", file)
    assert titles(data) == {"in the log"}
    assert titles_with_log(file) == {"in the log"}


def test_a_project_without_data_gets_some(commands: Commands, tmp_path: Path) -> None:
    assert commands.json("restore", backup_of(tmp_path, "new"))["kept"] is None
    state = commands.folder / ".bbops/state"
    assert titles(state / "data.sqlite") == {"new"}
    assert state.stat().st_mode & 0o777 == 0o700


def test_the_log_of_data_that_is_gone_is_not_taken_for_that_of_the_backup(
    commands: Commands, data: Path, tmp_path: Path
) -> None:
    data.unlink()
    commands.json("restore", backup_of(tmp_path, "new"))
    assert titles(data) == {"new"}
    assert kept(data).name.endswith("-wal")


def test_damaged_data_is_replaced_and_kept_as_it_was(
    commands: Commands, data: Path, tmp_path: Path
) -> None:
    log = data.with_name("data.sqlite-wal").read_bytes()
    data.write_bytes(b"no database at all" * 1000)
    done = commands.run("restore", backup_of(tmp_path, "new"))
    assert done.returncode == 0, done.stderr
    assert titles(data) == {"new"}
    files = {one.name[len("data.sqlite.before-20261121T194500Z") :]: one.read_bytes()
             for one in data.parent.glob("data.sqlite.before-*")}  # fmt: skip
    assert files == {"": b"no database at all" * 1000, "-wal": log}


@pytest.mark.parametrize(
    ("content", "code", "complaint"),
    [
        (b"no database at all" * 1000, 1, "file is not a database"),
        (b"", 2, "contains no project data"),
    ],
)
def test_what_is_no_backup_changes_nothing(
    commands: Commands, data: Path, tmp_path: Path, content: bytes, code: int, complaint: str
) -> None:
    (file := tmp_path / "backup.sqlite").write_bytes(content)
    done = commands.run("restore", file)
    assert (done.returncode, done.stdout) == (code, "")
    assert complaint in done.stderr
    assert {one.name for one in data.parent.iterdir()} - {".gitignore"} == {
        "data.sqlite", "data.sqlite-wal", "data.sqlite.lock", "lock",
    }  # fmt: skip


def test_a_damaged_backup_changes_nothing(commands: Commands, data: Path, tmp_path: Path) -> None:
    file = backup_of(tmp_path, *(f"{number} {'x' * 1000}" for number in range(2000)))
    with file.open("r+b") as opened:
        opened.seek(MEBIBYTE)
        opened.write(b"\xff" * 8192)
    done = commands.run("restore", file)
    assert done.returncode == 1
    assert f"error: '{file}' is damaged: " in done.stderr
    assert "hint: use another backup; nothing has changed" in done.stderr
    assert titles_with_log(data) == {"old"}


def titles_with_log(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as connection:
        return {title for (title,) in connection.execute("SELECT title FROM notes")}


def test_data_that_another_program_has_open_is_left_alone(
    commands: Commands, data: Path, tmp_path: Path
) -> None:
    with closing(sqlite3.connect(data)) as other:
        other.execute("SELECT * FROM notes").fetchall()
        done = commands.run("restore", backup_of(tmp_path, "new"))
        assert done.returncode == 2
        assert "error: another program has '.bbops/state/data.sqlite' open" in done.stderr
    assert titles_with_log(data) == {"old"}


@pytest.mark.long
def test_a_disk_without_room_changes_nothing(
    commands: Commands, data: Path, tmp_path: Path
) -> None:
    file = backup_of(tmp_path, *(f"{number} {'x' * 1000}" for number in range(2000)))

    def bound() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (MEBIBYTE, MEBIBYTE))

    done = commands.run("restore", file, preexec_fn=bound)
    assert done.returncode == 2
    assert "must have room" in done.stderr
    assert not list(data.parent.glob(".*"))
    assert titles_with_log(data) == {"old"}


@pytest.mark.long
def test_a_restore_that_is_killed_leaves_the_old_data_or_the_new(
    commands: Commands, data: Path, tmp_path: Path
) -> None:
    many = {f"{number} {'x' * 1000}" for number in range(8000)}
    file = backup_of(tmp_path, *many)
    chance, before = random.Random(7), {"old"}
    outcomes = []
    for _ in range(12):
        with commands.start("restore", file) as process:
            wait_for(lambda: list(data.parent.glob(".data.sqlite.*")))
            time.sleep(chance.uniform(0, 0.1))
            process.send_signal(signal.SIGKILL)
        found = titles_with_log(data)
        assert found in (before, many)
        outcomes.append(found == many)
        if found == many:
            for one in (data, data.with_name("data.sqlite-wal")):
                one.unlink(missing_ok=True)
            make(data, "old", in_log=True)
    assert False in outcomes
    commands.json("restore", file)
    assert titles(data) == many
    assert not list(data.parent.glob(".data.sqlite.*"))


@pytest.mark.long
def test_each_step_of_a_restore_may_be_its_last(tmp_path: Path) -> None:
    file, steps = backup_of(tmp_path, "new"), 0
    while True:
        steps += 1
        (folder := tmp_path / str(steps)).mkdir()
        data = make(folder / "data.sqlite", "old", in_log=True)
        command = [sys.executable, "-c", DYING, str(data), str(file), str(steps)]
        code = subprocess.run(command, check=False).returncode
        left = titles_with_log(data)
        if code == 0:
            break
        assert code == -signal.SIGKILL
        assert left in ({"old"}, {"new"}), steps
        restore(data, file, folder / "data.sqlite.before-second")
        assert titles(data) == {"new"}
        assert titles(folder / "data.sqlite.before-second") == left
        assert not list(folder.glob(".*"))
    assert left == {"new"}
    assert steps > 10


def test_nobody_restores_into_a_folder_that_is_no_project(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    commands = Commands(tmp_path / "elsewhere", tmp_path / "commands")
    done = commands.run("restore", backup_of(tmp_path, "new"))
    assert done.stderr.startswith("error: this folder is not a project\n")
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.long
def test_one_of_several_projects_is_named(commands: Commands, tmp_path: Path) -> None:
    (commands.folder / "server.yaml").write_text(
        "projects:\n  a: { repository: ./a, hosts: [a.example.com] }\n"
        "  b: { repository: ./b, hosts: [b.example.com] }\n"
    )
    file = backup_of(tmp_path, "new")
    refused = commands.run("restore", file)
    assert (refused.returncode, refused.stderr) == (
        2,
        "error: '.bbops/state' holds several projects\n    hint: choose one with --project: a, b\n",
    )
    commands.json("restore", file, "--project", "b")
    assert titles(commands.folder / ".bbops/state/projects/b/data.sqlite") == {"new"}
    assert commands.json("backup", "--project", "b")["file"].startswith("b-")
