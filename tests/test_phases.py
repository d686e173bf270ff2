"""Tables change in phases, and in each of them the statements of every release that serves work."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from bbops.database import migrate, rollout
from bbops.database.connection import connect
from bbops.resources.table import Column, Table
from tests.migrating import declare, query
from tests.test_database_changes import (
    DESTRUCTIVE,
    ROWS,
    SAFE,
    SPEC,
    Edit,
    both,
    changed,
    check,
    drop,
    people,
    rename,
    rename_people,
    to,
)

Tables = Mapping[str, Table]
CASES: dict[str, Edit] = {
    **{name: edit for name, (edit, _) in SAFE.items()},
    **{name: edit for name, (edit, _) in DESTRUCTIVE.items()},
    "everything goes but teams": lambda spec: [spec.pop(t) for t in ("people", "members", "empty")],
    "a required column with a reference goes": drop("people", "team_id"),
    "a unique column goes": drop("people", "email"),
    "a column with a default goes": drop("people", "role"),
    "a renamed table loses a column": both(rename_people, drop("persons", "price")),
    "a check and a new name elsewhere": both(
        check("grown", "age == null or age >= 18"), rename("people", "nick", "alias"),
        lambda spec: spec["people"].pop("indexes"),
    ),
    "a default that has a reference": to("other_id", "integer", default=1, references="teams.id"),
    "a type and a rule elsewhere": both(to("code", "integer"), people("word", maxLength=3)),
    "a rename and a table with a reference to it": both(
        rename_people,
        lambda spec: spec.update(
            pets={"columns": {"id": {"type": "integer", "primaryKey": True},
                              "owner": {"type": "integer", "references": "persons.id"}}}
        ),
    ),
}  # fmt: skip
COLUMNS = "SELECT name, type, \"notnull\", pk, dflt_value FROM pragma_table_info('{}')"
INDEXES = "SELECT name, \"unique\" FROM pragma_index_list('{}') WHERE origin = 'c'"
REFERENCES = 'SELECT "from", "table", "to", on_delete FROM pragma_foreign_key_list(\'{}\')'
VALUES: dict[str, Any] = {
    "string": "9", "text": "9", "integer": 90, "bigint": 90, "number": 9.0, "decimal": "9",
    "boolean": 0, "datetime": "2026-09-09T09:00:00.000000Z", "date": "2026-09-09",
    "time": "09:00:00", "uuid": "00000000-0000-4000-8000-000000000009", "json": "9", "binary": b"9",
}  # fmt: skip


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("original") / "data.sqlite"
    migrate.apply(path, declare(SPEC))
    for statement in ROWS:
        query(path, statement)
    query(path, "PRAGMA wal_checkpoint(TRUNCATE)")
    return path.read_bytes()


@pytest.fixture
def database(original: bytes, tmp_path: Path) -> Path:
    path = tmp_path / "data.sqlite"
    path.write_bytes(original)
    return path


@pytest.mark.parametrize("name", CASES)
def test_every_release_works_while_it_serves_and_the_end_is_that_of_one_step(
    database: Path, name: str
) -> None:
    wanted, whole = changed(CASES[name]), database.with_name("whole.sqlite")
    shutil.copy(database, whole)
    before = migrate.plan(whole, wanted)
    migrate.apply(whole, wanted, {before.hash})
    planned = rollout.plan(database, wanted)
    assert [c.key for c in planned.migration.changes] == [c.key for c in before.changes]
    assert rollout.expand(database, wanted, {planned.migration.hash}) == planned.migration
    use(database, declare(SPEC))
    if planned.phases.switches:
        rollout.switch(database, "a release", until=monotonic() + 60)
    use(database, declare(SPEC), only=not planned.phases.switches)
    use(database, wanted)
    rollout.settle(database, "a release")
    rollout.narrow(database)
    use(database, wanted)
    assert rollout.plan(database, wanted).is_done
    assert end_of(database, wanted) == end_of(whole, wanted)
    assert query(database, "PRAGMA integrity_check") == [("ok",)]
    assert query(database, "PRAGMA foreign_key_check") == []


def use(path: Path, tables: Tables, *, only: bool = True) -> None:
    """Insert, read, change and delete a row of every table as a release of these tables does."""
    if not only:
        return
    with closing(connect(path)) as live:
        for name, table in tables.items():
            live.execute("BEGIN IMMEDIATE")
            keys = {key: value(live, column) for key, column in table.columns.items()}
            listed, marks = ", ".join(f'"{key}"' for key in keys), ", ".join("?" for _ in keys)
            row = live.execute(
                f'INSERT INTO "{name}" ({listed}) VALUES ({marks}) RETURNING {listed}',
                [*keys.values()],
            ).fetchone()
            assert row == tuple(keys.values())
            where = " AND ".join(f'"{key}" = ?' for key in table.key)
            these = [keys[key] for key in table.key]
            same = ", ".join(f'"{key}" = "{key}"' for key in keys)
            assert live.execute(f'UPDATE "{name}" SET {same} WHERE {where}', these).rowcount == 1
            assert live.execute(f'DELETE FROM "{name}" WHERE {where}', these).rowcount == 1
            live.execute("ROLLBACK")
            live.execute(f'SELECT {listed} FROM "{name}"').fetchall()


def value(live: sqlite3.Connection, column: Column) -> Any:
    """Return a value that no row has, but that fits in its column."""
    if column.references:
        table, _, key = column.references.partition(".")
        return live.execute(f'SELECT max("{key}") FROM "{table}"').fetchone()[0]
    found = column.enum[0] if column.enum else VALUES[column.type]
    return int(found) if column.type == "integer" else found


def end_of(path: Path, wanted: Tables) -> dict[str, Any]:
    """Return the wanted tables of a file: columns, indexes, references and rows, in any order."""
    found: dict[str, Any] = {}
    for name, table in wanted.items():
        timed = {key for key, column in table.columns.items() if column.auto == "created"}
        columns = [
            column[:4] if column[0] in timed else column
            for column in query(path, COLUMNS.format(name))
            if column[0] in table.columns
        ]
        listed = ", ".join(f'"{key}"' for key in table.columns if key not in timed)
        rules = [sorted(query(path, rules.format(name))) for rules in (INDEXES, REFERENCES)]
        rows = query(path, f'SELECT {listed} FROM "{name}" ORDER BY {listed}')
        found[name] = sorted(columns), *rules, rows
    return found
