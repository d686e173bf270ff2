"""Tables with rows, edits of them, and a file that holds them: for tests of migrations."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from bbops.database.migrate import migrate
from bbops.language.resources.table import Table
from tests.support.migrating import ID, declare, query

Edit = Callable[[dict[str, Any]], object]

SPEC: dict[str, Any] = {
    "teams": {
        "columns": {"id": dict(ID), "name": {"type": "string", "unique": True, "minLength": 1}},
    },
    "people": {
        "columns": {
            "id": dict(ID),
            "email": {"type": "string", "unique": True, "maxLength": 50},
            "age": {"type": "integer", "nullable": True, "minimum": 0},
            "role": {"type": "string", "enum": ["a", "b"], "default": "a"},
            "nick": {"type": "string", "nullable": True},
            "code": {"type": "string"},
            "word": {"type": "string"},
            "flag": {"type": "boolean", "default": False},
            "score": {"type": "number", "default": 1.5},
            "whole": {"type": "number"},
            "price": {"type": "decimal"},
            "born": {"type": "date"},
            "seen": {"type": "datetime"},
            "at": {"type": "time"},
            "key": {"type": "uuid"},
            "data": {"type": "json"},
            "raw": {"type": "binary"},
            "team_id": {"type": "integer", "references": "teams.id", "onDelete": "cascade"},
            "lead_id": {"type": "integer"},
            "unused": {"type": "text", "nullable": True},
        },
        "indexes": {"people_by_nick": {"columns": ["nick"]}},
    },
    "members": {
        "primaryKey": ["team_id", "person_id"],
        "columns": {
            "team_id": {"type": "integer", "references": "teams.id"},
            "person_id": {"type": "integer", "references": "people.id"},
            "since": {"type": "date", "nullable": True},
        },
    },
    "empty": {"columns": {"id": dict(ID), "title": {"type": "string"}}},
}
KEY = "00000000-0000-4000-8000-00000000000"
ROWS = [
    "INSERT INTO teams VALUES (1, 'red'), (2, 'blue')",
    *(
        f"INSERT INTO people VALUES ({n}, '{n}@x', {age}, 'a', {nick}, '{n}0', 'w{n}', 0, 0.1, {n},"
        f" '{n}.50', '2026-01-0{n}', '2026-01-0{n}T1{n}:00:00.000000Z', '0{n}:30:00', '{KEY}{n}',"
        f" '{{\"n\":{n}}}', x'0{n}', 1, 2, NULL)"
        for n, age, nick in ((1, 30, "'same'"), (2, 40, "'same'"), (3, "NULL", "NULL"))
    ),
    "INSERT INTO members VALUES (1, 1, '2026-01-01'), (1, 2, NULL), (2, 1, NULL)",
]
COLUMNS = "SELECT name, type, \"notnull\", pk, dflt_value FROM pragma_table_info('{}')"
INDEXES = "SELECT name, \"unique\" FROM pragma_index_list('{}') WHERE origin = 'c'"
REFERENCES = 'SELECT "from", "table", "to", on_delete FROM pragma_foreign_key_list(\'{}\')'
VALUES: dict[str, Any] = {
    "string": "9", "text": "9", "integer": 90, "bigint": 90, "number": 9.0, "decimal": "90",
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


def people(name: str, **keys: Any) -> Edit:
    """Edit a column; None takes a key away."""

    def edit(spec: dict[str, Any]) -> None:
        column = spec["people"]["columns"].setdefault(name, {})
        column.update(keys)
        for key in [key for key, value in column.items() if value is None]:
            del column[key]

    return edit


def to(name: str, column_type: str, **keys: Any) -> Edit:
    return people(name, **{"type": column_type, **keys})


def drop(table: str, column: str) -> Edit:
    return lambda spec: spec[table]["columns"].pop(column)


def rename(table: str, old: str, new: str) -> Edit:
    def edit(spec: dict[str, Any]) -> None:
        columns = spec[table]["columns"]
        columns[new] = {**columns.pop(old), "renamedFrom": old}

    return edit


def rename_people(spec: dict[str, Any]) -> None:
    spec["persons"] = {**spec.pop("people"), "renamedFrom": "people"}
    spec["members"]["columns"]["person_id"]["references"] = "persons.id"


def rename_teams_key(spec: dict[str, Any]) -> None:
    rename("teams", "id", "number")(spec)
    for table in ("people", "members"):
        spec[table]["columns"]["team_id"]["references"] = "teams.number"


def index(name: str, columns: list[str], **keys: Any) -> Edit:
    return lambda spec: spec["people"]["indexes"].update({name: {"columns": columns, **keys}})


def check(name: str, condition: str) -> Edit:
    return lambda spec: spec["people"].update(checks={name: condition})


def key(table: str, columns: list[str]) -> Edit:
    def edit(spec: dict[str, Any]) -> None:
        for column in spec[table]["columns"].values():
            column.pop("primaryKey", None)
            column.pop("auto", None)
        spec[table]["primaryKey"] = columns

    return edit


def both(*edits: Edit) -> Edit:
    return lambda spec: [edit(spec) for edit in edits]


def changed(edit: Edit) -> dict[str, Any]:
    spec = copy.deepcopy(SPEC)
    edit(spec)
    return declare(spec)


def rows_of(path: Path) -> list[Any]:
    """Count the rows of every table but the ones that have none."""
    names = query(
        path, "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    )
    counts = (query(path, f'SELECT count(*) FROM "{name}"')[0][0] for (name,) in names)
    return sorted(count for count in counts if count)


def end_of(path: Path, wanted: Mapping[str, Table]) -> dict[str, Any]:
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
