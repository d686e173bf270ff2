"""Declared tables and live files: what is made, what is refused, and that nothing is half done."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bbops.base.errors import DatabaseError, MigrationRefused
from bbops.database.migrate import migrate
from tests.conftest import ROOT
from tests.support.migrating import BASE, ID, USER, changed, column, declare, query, schema_of


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    path = tmp_path / "data.sqlite"
    migrate.apply(path, declare(BASE))
    return path


@pytest.fixture
def filled(empty: Path) -> Path:
    stamp = "2026-01-01T00:00:00.000000Z"
    query(empty, f"INSERT INTO users VALUES ('{USER}', 'a@x', 3, 'a:b', '{stamp}')")
    for title in ("one", "one", "two"):
        query(empty, f"INSERT INTO notes (title, user_id) VALUES ('{title}', '{USER}')")
    return empty


def test_plan_of_a_missing_file_creates_everything_but_the_file(tmp_path: Path) -> None:
    path = tmp_path / "data.sqlite"
    planned = migrate.plan(path, declare(BASE))
    assert [str(change) for change in planned.changes] == [
        "create table 'notes'",
        "create table 'users'",
    ]
    assert not list(tmp_path.iterdir())


def test_applied_tables_have_an_empty_plan(empty: Path) -> None:
    assert migrate.plan(empty, declare(BASE)).is_empty
    assert migrate.apply(empty, declare(BASE)).is_empty


@pytest.mark.long
def test_equal_hash_needs_no_sqlalchemy(empty: Path, tmp_path: Path) -> None:
    code = (
        "import sys; sys.path.insert(0, 'tests/database')\n"
        "from pathlib import Path\n"
        "from test_database_migrate import BASE, declare, migrate\n"
        f"assert migrate.plan(Path({str(empty)!r}), declare(BASE)).is_empty\n"
        "assert not {'sqlalchemy', 'alembic'} & sys.modules.keys()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_a_description_alone_changes_the_hash_but_no_table(filled: Path) -> None:
    before = schema_of(filled)
    tables = changed(lambda spec: spec["notes"].update(description="what was noted"))
    assert migrate.apply(filled, tables).is_empty
    assert schema_of(filled) == before
    assert migrate.plan(filled, declare(BASE)).is_empty


SAFE: dict[str, tuple[Callable[[dict[str, Any]], object], list[str]]] = {
    "a table": (
        lambda spec: spec.update(tags={"columns": {"name": {"type": "string"}}}),
        ["create table 'tags'"],
    ),
    "a nullable column": (
        column("notes", "color", type="string", nullable=True, maxLength=9),
        ["add column 'notes.color'"],
    ),
    "a column with a default": (
        column("notes", "level", type="integer", default=1, minimum=0, maximum=9),
        ["add column 'notes.level'"],
    ),
    "a reference to the own table": (
        column("notes", "parent_id", type="integer", nullable=True, references="notes.id"),
        ["add column 'notes.parent_id'", "create index 'notes.ix_notes_parent_id'"],
    ),
    "a unique nullable column": (
        column("notes", "slug", type="string", nullable=True, unique=True),
        ["add column 'notes.slug'", "create index 'notes.uq_notes_slug'"],
    ),
    "a time of creation": (
        column("notes", "created_at", type="datetime", auto="created"),
        ["add column 'notes.created_at' (3 rows get the time of the migration)"],
    ),
    "an index": (
        lambda spec: spec["notes"]["indexes"].update(by_done={"columns": ["done", "title"]}),
        ["create index 'notes.by_done'"],
    ),
    "a unique index without duplicates": (
        lambda spec: spec["notes"]["indexes"].update(
            u={"columns": ["title", "id"], "unique": True}
        ),
        ["create index 'notes.u'"],
    ),
    "an index that serves a reference": (
        lambda spec: spec["notes"]["indexes"].update(by_user={"columns": ["user_id", "id"]}),
        ["create index 'notes.by_user'"],
    ),
    "a wider kind of text": (column("users", "email", type="text"), []),
}


@pytest.mark.parametrize("name", SAFE)
def test_adding_converges_and_keeps_rows(filled: Path, name: str) -> None:
    edit, expected = SAFE[name]
    tables = changed(edit)
    assert [str(change) for change in migrate.apply(filled, tables).changes] == expected
    assert query(filled, "SELECT count(*) FROM notes") == [(3,)]
    assert migrate.plan(filled, tables).is_empty
    again = changed(lambda spec: (edit(spec), spec["users"].update(description="x")))
    assert migrate.plan(filled, again).is_empty, "a full diff finds nothing either"


def test_a_required_column_joins_an_empty_table(empty: Path) -> None:
    tables = changed(column("notes", "color", type="string", references="users.id"))
    migrate.apply(empty, tables)
    assert migrate.plan(empty, tables).is_empty


def test_rows_get_the_time_of_the_migration(filled: Path) -> None:
    def edit(spec: dict[str, Any]) -> None:
        column("notes", "created_at", type="datetime", auto="created")(spec)
        column("notes", "day", type="date", auto="created")(spec)

    migrate.apply(filled, changed(edit))
    ((moment, day),) = query(filled, "SELECT DISTINCT created_at, day FROM notes")
    assert len(moment) == len("2026-01-01T00:00:00.000000Z")
    assert moment.startswith(day)


def test_tables_may_refer_in_circles(tmp_path: Path) -> None:
    tables = declare(
        {
            "left": {
                "columns": {
                    "id": ID,
                    "right_id": {"type": "integer", "nullable": True, "references": "right.id"},
                }
            },
            "right": {
                "columns": {
                    "id": {"type": "integer", "primaryKey": True},
                    "left_id": {"type": "integer", "references": "left.id", "onDelete": "setNull"},
                }
            },
        }
    )
    migrate.apply(tmp_path / "d", tables)
    assert migrate.plan(tmp_path / "d", tables).is_empty


def test_names_may_be_words_of_sql(tmp_path: Path) -> None:
    tables = declare(
        {
            "order": {
                "columns": {
                    "check": {"type": "integer", "primaryKey": True, "minimum": 0},
                    "returning": {"type": "string", "unique": True, "enum": ["a"]},
                    "order_id": {"type": "integer", "references": "order.check"},
                },
                "indexes": {"group": {"columns": ["returning", "check"]}},
            }
        }
    )
    migrate.apply(tmp_path / "d", tables)
    tables["order"].columns["values"] = tables["order"].columns["returning"]
    migrate.apply(tmp_path / "d", tables)


def test_two_indexes_of_one_name_are_refused(tmp_path: Path) -> None:
    tables = changed(
        lambda spec: spec["users"].update(indexes={"notes_by_title": {"columns": ["age"]}})
    )
    with pytest.raises(MigrationRefused, match="has the name of another index"):
        migrate.plan(tmp_path / "d", tables)


SEEDED = {
    "seed": [
        {"id": 2, "title": "child", "parent_id": 1},
        {"id": 1, "title": "parent", "data": {"a": [1]}, "at": "2026-01-01T01:00:00+01:00"},
    ],
    "columns": {
        "id": {"type": "integer", "primaryKey": True},
        "title": {"type": "string", "maxLength": 9},
        "parent_id": {"type": "integer", "nullable": True, "references": "pages.id"},
        "data": {"type": "json", "nullable": True},
        "at": {"type": "datetime", "nullable": True},
        "is_live": {"type": "boolean", "default": True},
        "key": {"type": "uuid", "auto": "uuid"},
        "updated_at": {"type": "datetime", "auto": "updated"},
    },
}


def test_seed_rows_are_encoded_and_completed(tmp_path: Path) -> None:
    migrate.apply(tmp_path / "d", declare({"pages": SEEDED}))
    rows = query(tmp_path / "d", "SELECT data, at, is_live, length(key) FROM pages ORDER BY id")
    assert rows == [
        ('{"a":[1]}', "2026-01-01T00:00:00.000000Z", 1, 36),
        (None, None, 1, 36),
    ]


def test_seed_rows_come_back_but_are_never_changed(tmp_path: Path) -> None:
    path, tables = tmp_path / "d", declare({"pages": SEEDED})
    migrate.apply(path, tables)
    query(path, "DELETE FROM pages WHERE id = 2")
    query(path, "UPDATE pages SET title = 'mine' WHERE id = 1")
    migrate.apply(path, tables)
    assert query(path, "SELECT id, title FROM pages") == [(1, "mine"), (2, "child")]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"id": 3, "title": "far too long"}, "'title' violates a rule of its column"),
        ({"title": "x"}, "seed row 1 of table 'pages' has neither its primary key"),
        ({"id": 3}, "'title' may not be null"),
        ({"id": 3, "title": 5}, "column 'title': expected a value of type string"),
        ({"id": 3, "title": "x", "at": "soon"}, "expected a value of type datetime"),
        ({"id": 3, "title": "x", "parent_id": 9}, "1 row of 'pages' for which 'pages' has none"),
    ],
)
def test_a_wrong_seed_row_undoes_the_whole_migration(
    tmp_path: Path, row: dict[str, Any], expected: str
) -> None:
    with pytest.raises(MigrationRefused) as caught:
        migrate.apply(tmp_path / "d", declare({"pages": {**SEEDED, "seed": [row]}}))
    assert expected in str(caught.value)
    assert schema_of(tmp_path / "d") == []


class FailingConnection(sqlite3.Connection):
    """A real connection whose n-th statement fails, as on a full disk."""

    left = 0

    def execute(self, *args: Any) -> sqlite3.Cursor:
        cls = type(self)
        cls.left -= 1
        if cls.left == 0:
            raise sqlite3.OperationalError("database or disk is full")
        return super().execute(*args)


def test_a_failure_at_any_statement_leaves_the_file_as_it_was(
    filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def edit(spec: dict[str, Any]) -> None:
        spec["pages"] = SEEDED
        SAFE["a unique nullable column"][0](spec)
        SAFE["a time of creation"][0](spec)

    before, tables, connect = schema_of(filled), changed(edit), sqlite3.connect
    monkeypatch.setattr(
        sqlite3, "connect", lambda *a, **k: connect(*a, **{**k, "factory": FailingConnection})
    )
    failures = 0
    while True:
        FailingConnection.left = failures + 1
        try:
            migrate.apply(filled, tables)
        except DatabaseError:
            failures += 1
        else:
            break
        finally:
            FailingConnection.left = 0
        assert schema_of(filled) == before
    assert failures > 25
    assert query(filled, "SELECT count(*) FROM pages") == [(2,)]


def test_a_failing_statement_names_its_change(filled: Path) -> None:
    query(filled, "CREATE TABLE _bbops_rebuilt (in_the_way)")
    with pytest.raises(DatabaseError, match=r"cannot rebuild table 'notes': .*already exists"):
        migrate.apply(filled, changed(column("notes", "title", nullable=True)))


def test_of_migrators_at_once_one_does_the_work(filled: Path) -> None:
    tables, made = changed(SAFE["a nullable column"][0]), []
    threads = [
        threading.Thread(target=lambda: made.append(len(migrate.apply(filled, tables).changes)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(made) == [0, 0, 0, 1]


def test_a_file_that_is_no_database_is_said(tmp_path: Path) -> None:
    path = tmp_path / "d"
    path.write_text("not a database, only text that is long enough to be read as a header" * 9)
    with pytest.raises(DatabaseError, match="file is not a database"):
        migrate.plan(path, declare(BASE))


def test_a_missing_folder_is_said_with_its_cure(tmp_path: Path) -> None:
    with pytest.raises(DatabaseError, match="must exist and be writable"):
        migrate.apply(tmp_path / "none" / "d", declare(BASE))


def test_a_chain_of_renames_in_one_push_names_the_live_column(filled: Path) -> None:
    renamed = {"subject": {"type": "string", "renamedFrom": "heading"}}
    notes = {**BASE["notes"]["columns"]}
    del notes["title"]
    tables = declare({**BASE, "notes": {**BASE["notes"], "columns": {**notes, **renamed}}})
    planned = migrate.plan(filled, tables)
    cures = [one.cure for one in planned.changes if one.kind == "drop column"]
    assert cures == [
        ("'renamedFrom: heading' of 'subject' was never live: write 'renamedFrom: title' there if"
        " it was renamed from 'title' before"),
    ]  # fmt: skip
