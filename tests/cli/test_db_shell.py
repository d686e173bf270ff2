"""`bbops db shell`: reads beside a server, writes when told to, and never changes a table."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bbops.source.git import store
from tests.support.database_commands import Commands
from tests.support.served import Served
from tests.support.small_project import FILES

pytestmark = pytest.mark.long

FOREVER = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x FROM n) SELECT count(*) FROM n"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    files = {name: text.encode() for name, text in FILES.items()}
    store.init(folder / "small", files, message="Start")
    with Served(folder / "small", folder / "home") as server:
        server.live()
        for title in ("one", "two", "three"):
            assert server.api.post("/notes", json={"title": title}).status_code == 201
        yield server


@pytest.fixture
def commands(served: Served, tmp_path: Path) -> Commands:
    return Commands(served.repository, tmp_path / "commands")


def test_rows_are_a_table(commands: Commands) -> None:
    done = commands.run("shell", "SELECT id, title, NULL AS empty FROM notes WHERE id < 3")
    assert [line.split() for line in done.stdout.splitlines()] == [
        ["id", "title", "empty"],
        ["1", "one", "null"],
        ["2", "two", "null"],
        ["2", "rows"],
    ]


def test_rows_are_json_when_asked(commands: Commands) -> None:
    told = commands.json("shell", "SELECT id, title, x'ff' FROM notes", "--limit", 1)
    assert told == {
        "columns": ["id", "title", "x'ff'"], "rows": [[1, "one", "ff"]], "changed": 0,
        "is_cut": True,
    }  # fmt: skip


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM notes", "INSERT INTO notes (title) VALUES ('x')", "DROP TABLE notes",
        "PRAGMA query_only = OFF", "PRAGMA wal_checkpoint", "ATTACH 'other.sqlite' AS other",
        "VACUUM INTO 'copy.sqlite'", "BEGIN",
    ],
)  # fmt: skip
def test_a_shell_only_reads(commands: Commands, served: Served, statement: str) -> None:
    done = commands.run("shell", statement)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error: this statement does not only read\n    hint: use --write to change rows\n"
    )
    assert len(served.api.get("/notes").json()) >= 3
    assert not (served.repository / "copy.sqlite").exists()


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE notes", "CREATE TABLE more (id)", "ALTER TABLE notes ADD COLUMN x", "BEGIN",
        "PRAGMA journal_mode = DELETE", "ATTACH 'other.sqlite' AS other",
        "DELETE FROM _bbops_schema",
    ],
)  # fmt: skip
def test_a_shell_that_writes_changes_rows_only(commands: Commands, statement: str) -> None:
    done = commands.run("shell", "--write", statement)
    assert done.returncode == 2
    assert "rows of the project's tables" in done.stderr


@pytest.mark.parametrize("option", ["--limit=20", "--write"])
def test_the_list_of_tables_may_be_read_and_never_written(commands: Commands, option: str) -> None:
    listed = "SELECT name FROM pragma_table_list WHERE name = 'notes'"
    assert commands.json("shell", option, listed)["rows"] == [["notes"]]
    done = commands.run("shell", option, "UPDATE sqlite_master SET sql = ''")
    assert done.stderr == "error: the statement failed: table sqlite_master may not be modified\n"


def test_a_row_that_is_written_is_served(commands: Commands, served: Served) -> None:
    told = commands.json(
        "shell", "--write", "INSERT INTO notes (title) VALUES ('by hand') RETURNING title"
    )
    assert told["rows"] == [["by hand"]]
    assert "by hand" in [one["title"] for one in served.api.get("/notes").json()]
    done = commands.run("shell", "--write", "DELETE FROM notes WHERE title = 'by hand'")
    assert done.stdout == "1 row changed\n"


def test_a_mistake_is_told_in_sqlites_words(commands: Commands) -> None:
    done = commands.run("shell", "SELECT * FROM notez")
    assert (done.returncode, done.stderr) == (
        2, "error: the statement failed: no such table: notez\n",
    )  # fmt: skip


def test_a_pipe_gives_statements_in_turn(commands: Commands) -> None:
    given = "SELECT ';' AS x\n  FROM notes LIMIT 1;\nSELECT 2;\n\nSELECT 3"
    done = commands.run("shell", "--json", given=given)
    assert [json.loads(line)["rows"] for line in done.stdout.splitlines()] == [
        [[";"]], [[2]], [[3]],
    ]  # fmt: skip


def test_nothing_after_a_statement_that_fails_is_run(commands: Commands) -> None:
    done = commands.run("shell", given="SELECT 1;\nSELEC 2;\nSELECT 3;\n")
    assert done.returncode == 2
    assert "3" not in done.stdout


def test_what_acts_on_a_terminal_is_shown_as_an_escape(commands: Commands) -> None:
    done = commands.run("shell", "SELECT char(27) || '[2J' AS bad")
    assert "\x1b" not in done.stdout
    assert "\\x1b[2J" in done.stdout


def test_ctrl_c_ends_a_statement_that_would_not(commands: Commands) -> None:
    with commands.start("shell", stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"SELECT 1;\n{FOREVER};\n")
        process.stdin.close()
        assert process.stdout.readline() == " 1\n"
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 130


def test_a_terminal_is_asked_until_it_has_had_enough(commands: Commands) -> None:
    ours, theirs = pty.openpty()
    typed = b"SELECT title\nFROM notes WHERE id = 2;\nSELEC;\n.tables\n.quit\n"
    process = commands.start("shell", stdin=theirs)
    os.write(ours, typed)
    shown, _ = process.communicate(timeout=20)
    os.close(theirs)
    os.close(ours)
    assert process.returncode == 0
    assert "two" in shown
    assert "error: the statement failed" in shown
    assert "notes" in shown.partition("error")[2]
