"""`bbops db plan` and `bbops db drift`: what files and data say of each other."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from bbops.database.migrate import migrate
from bbops_server.commands._db_tables import declared_tables
from bbops_server.commands.db import command

pytestmark = pytest.mark.quick

MORE = "more: { type: text, nullable: true }"
PROJECT = "bbops: 1\nname: planned\n"
NOTES = """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  title: { type: string, maxLength: 40, description: What it says. }
  done: { type: boolean, default: false }
"""


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data of a project that was published, with one row."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "project.yaml").write_text(PROJECT)
    (tmp_path / "tables").mkdir()
    write(NOTES)
    path = tmp_path / ".bbops" / "state" / "data.sqlite"
    path.parent.mkdir(parents=True)
    migrate.apply(path, declared_tables(tmp_path))
    by_hand(path, "INSERT INTO notes (title) VALUES ('one')")
    return path


def write(text: str) -> None:
    Path("tables/notes.yaml").write_text(text)


def by_hand(path: Path, sql: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(sql)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command, arguments, standalone_mode=False)


def test_nothing_to_do_is_said(data: Path) -> None:
    done = run("plan")
    assert (done.return_value, done.output) == (0, "the tables are up to date\n")


def test_a_plan_says_what_is_safe_and_what_is_lost(data: Path) -> None:
    write(NOTES.replace("done: { type: boolean, default: false }", MORE))
    done = run("plan")
    assert done.return_value == 1
    lines = done.output.splitlines()
    assert lines[0] == "safe         add column 'notes.more'"
    assert lines[1].startswith("destructive  drop column 'notes.done' (1 row would lose its")
    assert lines[-1].startswith("once it is committed: bbops db approve ")
    told = json.loads(run("plan", "--json").output)
    assert [change["risk"] for change in told["changes"]] == ["safe", "destructive"]
    assert told["waits"]


def test_a_plan_says_what_cannot_be_made_and_its_cure(data: Path) -> None:
    write(NOTES + "  more: { type: text }\n")
    done = run("plan")
    assert done.return_value == 1
    assert "impossible   add column 'notes.more' (1 row would have no value for it)" in done.output
    assert "make 'notes.more' nullable or give it a default" in done.output


def test_a_project_with_mistakes_has_no_plan(data: Path) -> None:
    write(NOTES.replace("string", "strin"))
    assert "strin" in str(run("plan").exception)


def test_tables_that_nobody_changed_do_not_drift(data: Path) -> None:
    done = run("drift")
    assert (done.return_value, done.output) == (0, "no table was changed by hand\n")


def test_what_was_done_by_hand_is_told_and_offered_as_a_file(data: Path) -> None:
    by_hand(data, "ALTER TABLE notes ADD COLUMN rank INTEGER NOT NULL DEFAULT 3")
    by_hand(data, "CREATE INDEX by_rank ON notes (rank)")
    by_hand(data, "ALTER TABLE notes DROP COLUMN title")
    by_hand(data, "CREATE TABLE tags (name TEXT PRIMARY KEY)")
    done = run("drift")
    assert done.return_value == 1
    assert sorted(done.output.splitlines()) == [
        "a column is gone: 'notes.title'",
        "a column was added: 'notes.rank'",
        "a table was added: 'tags'",
        "an index was added: 'notes.by_rank'",
    ]
    offered = yaml.safe_load(run("drift", "--yaml").output.partition("# tables/tags.yaml")[0])
    assert offered["columns"]["rank"] == {"type": "integer", "default": 3}
    assert offered["indexes"] == {"by_rank": {"columns": ["rank"]}}
    assert "title" not in offered["columns"]


def test_the_offered_file_ends_the_drift(data: Path) -> None:
    by_hand(data, "ALTER TABLE notes ADD COLUMN rank INTEGER NOT NULL DEFAULT 3")
    write(run("drift", "--yaml").output)
    migrate.apply(data, declared_tables(Path()))
    assert run("drift").return_value == 0
    assert declared_tables(Path())["notes"].columns["title"].description == "What it says."
