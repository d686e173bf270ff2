"""`checks` of a table: conditions that the database holds for every row, whoever writes it."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from bbops.base.errors import MigrationRefused
from bbops.compiler.check import validate
from bbops.database.migrate import drift, migrate
from bbops.database.migrate.opened import read_tables
from bbops.database.schema.place import Place, PostgresPlace
from bbops.database.schema.shape import Rule
from bbops.source.tree import MemoryTree
from tests.conftest import sample, with_function
from tests.support.migrating import ID, declare, query
from tests.support.postgres import DATABASES, place_of

SPEC: dict[str, Any] = {
    "events": {
        "columns": {
            "id": ID,
            "begins": {"type": "date"},
            "ends": {"type": "date", "nullable": True},
            "price": {"type": "decimal"},
            "kind": {"type": "string"},
            "open": {"type": "boolean", "default": False},
        },
        "checks": {
            "in_order": "ends == null or ends >= begins",
            "paid": "price >= 2.5 or kind in ['gift', 'it\\'s free']",
            "closed": "not open or kind | length > 2",
        },
    }
}
ROWS = [
    ("'2026-01-01', NULL, '10.0', 'a', {no}", True),
    ("'2026-01-01', '2026-01-02', '2.50', 'a', {no}", True),
    ("'2026-01-02', '2026-01-01', '2.5', 'a', {no}", False),
    ("'2026-01-01', NULL, '1.0', 'gift', {yes}", True),
    ("'2026-01-01', NULL, '1.0', 'it''s free', {no}", True),
    ("'2026-01-01', NULL, '1.0', 'a', {no}", False),
    ("'2026-01-01', NULL, '9', 'ab', {yes}", False),
]
INSERT = "INSERT INTO events (begins, ends, price, kind, open) VALUES ({})"


@pytest.mark.parametrize(("row", "is_right"), ROWS)
def test_sqlite_holds_them_also_for_other_programs(
    tmp_path: Path, row: str, is_right: bool
) -> None:
    path = tmp_path / "data.sqlite"
    migrate.apply(path, declare(SPEC))
    statement = INSERT.format(row.format(no=0, yes=1))
    if is_right:
        query(path, statement)
    else:
        with pytest.raises(sqlite3.IntegrityError, match="CHECK constraint failed"):
            query(path, statement)


def test_postgresql_holds_the_same(schema: PostgresPlace) -> None:
    migrate.apply(schema, declare(SPEC))
    with psycopg.connect(schema.address, autocommit=True) as connection:
        for row, is_right in ROWS:
            try:
                connection.execute(INSERT.format(row.format(no="false", yes="true")).encode())
            except psycopg.errors.CheckViolation:
                assert not is_right
            else:
                assert is_right
    again = {**SPEC["events"], "description": "x"}
    assert migrate.plan(schema, declare({"events": again})).is_empty


def test_rows_that_break_a_new_check_are_named(tmp_path: Path) -> None:
    path = tmp_path / "data.sqlite"
    events = {key: value for key, value in SPEC["events"].items() if key != "checks"}
    migrate.apply(path, declare({"events": events}))
    query(path, INSERT.format("'2026-01-02', '2026-01-01', '9', 'a', 0"))
    with pytest.raises(MigrationRefused, match=r"1 row violates the new rule: id 1"):
        migrate.apply(path, declare(SPEC))


def test_a_flow_is_told_which_check_its_row_breaks(ask: Callable[..., Any]) -> None:
    files = with_function(
        "steps:\n"
        "  - try:\n"
        "      - insert: { table: notes, data: { title: x } }\n"
        "    catch:\n"
        "      - return:\n"
        "          value: ${ error | pick('code', 'message') }\n"
    )
    files["tables/notes.yaml"] += "checks:\n  long_enough: title | length > 1 or done\n"
    answer = ask(files, "POST", "/run")
    assert answer.json == {
        "code": "check", "message": "the row violates the check 'long_enough'",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("check", "message"),
    [
        ("title | lower == 'x'", "a check cannot use the filter 'lower'"),
        ("done or 1 == 2", "a check compares columns and constants"),
    ],
)
def test_what_no_database_looks_at_is_said_by_validate(check: str, message: str) -> None:
    files = sample()
    files["tables/notes.yaml"] += f"checks:\n  odd: {check}\n"
    _, found = validate(MemoryTree(files))
    assert [(one.code, one.message) for one in found] == [("not-in-sql", message)]


@pytest.fixture(params=DATABASES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    with place_of(request, tmp_path) as found:
        yield found / "data.sqlite" if isinstance(found, Path) else found


def by_hand(place: Place, *, lose: str, add: str = "") -> None:
    """Take a check of the table away, and perhaps add another."""
    name = next(rule.name for rule in _rules(place) if f"_{lose}_" in rule.name)
    if isinstance(place, PostgresPlace):
        with psycopg.connect(place.address, autocommit=True) as connection:
            connection.execute(f'ALTER TABLE events DROP CONSTRAINT "{name}"'.encode())
            if add:
                connection.execute(f"ALTER TABLE events ADD CHECK ({add})".encode())
        return
    with closing(sqlite3.connect(place, isolation_level=None)) as live:
        (sql,) = live.execute("SELECT sql FROM sqlite_master WHERE name = 'events'").fetchone()
        own = re.search(rf',\s*CONSTRAINT "?{name}"? CHECK \(.*\)(?=,|\s*\))', sql)
        assert own
        sql = sql.replace(own[0], f", CHECK ({add})" if add else "")
        live.execute("PRAGMA writable_schema = ON")
        live.execute("UPDATE sqlite_master SET sql = ? WHERE name = 'events'", (sql,))


def _rules(place: Place) -> frozenset[Rule]:
    with read_tables(place) as live:
        return live.read()["events"].rules


def test_tables_with_checks_do_not_drift_by_themselves(place: Place) -> None:
    migrate.apply(place, declare(SPEC))
    assert drift.find_drift(place).found == ()


def test_a_check_that_somebody_took_away_is_told_and_the_others_are_offered(place: Place) -> None:
    migrate.apply(place, declare(SPEC))
    by_hand(place, lose="closed")
    found = drift.find_drift(place)
    assert [str(one) for one in found.found] == ["a check of a table is gone or differs: 'events'"]
    offered = found.tables["events"]
    assert offered is not None
    kept = {name: text for name, text in SPEC["events"]["checks"].items() if name != "closed"}
    assert offered["checks"] == kept
    migrate.apply(place, declare(dict(found.tables)))
    assert drift.find_drift(place).found == ()


def test_a_check_that_somebody_added_is_told(place: Place) -> None:
    migrate.apply(place, declare(SPEC))
    by_hand(place, lose="closed", add="price > 0")
    found = drift.find_drift(place)
    assert "a check was added: 'events'" in map(str, found.found)
    assert any("CHECKs of table 'events' are left out" in one for one in found.remarks)


def test_the_order_of_checks_is_no_difference(place: Place) -> None:
    migrate.apply(place, declare(SPEC))
    turned = dict(reversed(SPEC["events"]["checks"].items()))
    tables = declare({"events": {**SPEC["events"], "checks": turned}})
    assert migrate.plan(place, tables).is_empty
    assert migrate.hash_of(tables) == migrate.hash_of(declare(SPEC))
