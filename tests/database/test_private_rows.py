"""Tables that nobody has reviewed ask for no value of a private column, a bit at a time."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bbops.database.migrate import migrate
from bbops.database.migrate.looking import Looked, look
from bbops.language.resources.table import Table

COLUMNS: dict[str, dict[str, Any]] = {
    "id": {"type": "integer", "primaryKey": True, "auto": "increment"},
    "name": {"type": "string"},
    "token": {"type": "string", "private": True, "nullable": True},
}
SECRET = "s3cret"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "data.sqlite"
    migrate.apply(path, tables())
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("INSERT INTO people (name, token) VALUES ('ada', ?)", (SECRET,))
    return path


def tables(rules: dict[str, Any] | None = None, **column: Any) -> dict[str, Table]:
    columns = COLUMNS | {"token": COLUMNS["token"] | column}
    spec = {"columns": columns} | (rules or {})
    return {"people": Table.model_validate(spec)}


def ask(database: Path, rules: dict[str, Any] | None = None, **column: Any) -> Looked:
    return look(database, tables(rules, **column), seconds=20)


@pytest.mark.parametrize(("right", "wrong"), [
    ({"enum": [SECRET]}, {"enum": ["other"]}),
    ({"maxLength": 6}, {"maxLength": 5}),
    ({"nullable": False, "enum": [SECRET]}, {"nullable": False, "enum": ["other"]}),
    ({"private": False, "enum": [SECRET]}, {"private": False, "enum": ["other"]}),
    ({"rules": {"checks": {"bit": "token < 't'"}}}, {"rules": {"checks": {"bit": "token < 'a'"}}}),
    (
        {"rules": {"indexes": {"same": {"columns": ["token"], "unique": True}}}},
        {"rules": {"indexes": {"same": {"columns": ["token"], "unique": True}}}},
    ),
])  # fmt: skip
def test_a_rule_tells_nothing_of_a_private_value(
    database: Path, right: dict[str, Any], wrong: dict[str, Any]
) -> None:
    yes, no = (ask(database, **one).told for one in (right, wrong))
    assert yes.changes
    assert (yes.changes, yes.hash) == (no.changes, no.hash)
    assert {(one.risk, one.rows.count) for one in yes.changes} == {("depends", 0)}
    assert (yes.is_waiting, no.is_waiting) == (False, False)


def test_a_rule_of_other_columns_is_looked_at_as_before(database: Path) -> None:
    spec = {"people": Table.model_validate(
        {"columns": COLUMNS | {"name": {"type": "string", "maxLength": 2}}}
    )}  # fmt: skip
    (change,) = look(database, spec, seconds=20).told.changes
    assert (change.risk, change.rows.count, change.rows.keys) == ("impossible", 1, "id 1")


def test_who_publishes_is_told_what_stands_in_the_way(database: Path) -> None:
    (change,) = ask(database, maxLength=5).migration.changes
    assert (change.risk, change.rows.count) == ("impossible", 1)
