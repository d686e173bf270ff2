"""`bbops db seed`: the seed rows of what is live are there again, and nothing else has changed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bbops.source.git import store
from tests.support.database_commands import Commands
from tests.support.served import Served
from tests.support.small_project import FILES

SEED = (
    "  born: { type: date, nullable: true }\n"
    "  author_id: { type: integer, references: people.id, nullable: true }\n"
    "seed:\n"
    "  - { id: 1, title: one, born: 2020-02-29, author_id: 7 }\n"
    "  - { id: 2, title: two }\n"
)
PEOPLE = (
    "columns:\n  id: { type: integer, primaryKey: true }\n"
    "  email: { type: string, unique: true }\n"
    "seed:\n  - { id: 7, email: ada@example.com }\n"
)
ROWS = "SELECT id, title, born, author_id FROM notes ORDER BY id"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    texts = FILES | {
        "tables/notes.yaml": FILES["tables/notes.yaml"] + SEED,
        "tables/people.yaml": PEOPLE,
    }
    store.init(tmp_path / "small", {name: one.encode() for name, one in texts.items()}, message="a")
    with Served(tmp_path / "small", tmp_path / "home") as server:
        server.live()
        yield server


@pytest.fixture
def commands(tmp_path: Path) -> Commands:
    return Commands(tmp_path / "small", tmp_path / "commands")


@pytest.mark.long
def test_rows_that_somebody_deleted_come_back_beside_a_running_server(
    served: Served, commands: Commands
) -> None:
    before = commands.json("shell", ROWS)["rows"]
    commands.json("shell", "--write", "DELETE FROM notes WHERE id = 1")
    commands.json("shell", "--write", "DELETE FROM people")
    commands.json("shell", "--write", "UPDATE notes SET title = 'mine' WHERE id = 2")
    done = commands.run("seed")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "added  1 row to notes\nadded  1 row to people\n"
    assert commands.json("shell", ROWS)["rows"] == [before[0], [2, "mine", None, None]]
    assert served.api.get("/notes").json()[0]["title"] == "one"


@pytest.mark.long
def test_a_second_time_adds_nothing(served: Served, commands: Commands) -> None:
    assert commands.json("seed") == {"added": {"notes": 0, "people": 0}}
    assert commands.run("seed").stdout == "all seed rows exist\n"


@pytest.mark.long
def test_a_row_that_breaks_a_rule_takes_all_back(served: Served, commands: Commands) -> None:
    commands.json("shell", "--write", "DELETE FROM notes")
    commands.json("shell", "--write", "DELETE FROM people")
    insert = "INSERT INTO people (id, email) VALUES (8, 'ada@example.com')"
    commands.json("shell", "--write", insert)
    done = commands.run("seed")
    assert done.returncode == 2
    assert done.stderr.startswith("error: seed row 1 of table 'people' does not fit: ")
    assert commands.json("shell", ROWS)["rows"] == []


@pytest.mark.long
def test_what_is_committed_is_seeded_and_not_what_is_only_saved(
    served: Served, commands: Commands
) -> None:
    served.edit("tables/people.yaml", "id: 7", "id: 9")
    assert commands.json("seed")["added"]["people"] == 0
