"""The changes of tests/support/table_changes.py, on PostgreSQL."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from bbops.base.errors import MigrationRefused
from bbops.database.migrate import migrate
from bbops.database.schema.place import PostgresPlace
from tests.support.changing import SPEC, both, changed, drop, people, rename, to
from tests.support.changing_postgres import place, query
from tests.support.migrating import ID, declare
from tests.support.table_changes import DESTRUCTIVE, IMPOSSIBLE, SAFE

__all__ = ["place"]


TYPES_SAY_IT = {"boolean becomes integer", "boolean becomes text", "integer becomes decimal"}
"""Where SQLite has a rule of its own for a type, or writes one in another way."""


def rows_of(place: PostgresPlace) -> list[int]:
    names = query(
        place,
        "SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace"
        " AND relkind = 'r' AND relname NOT LIKE '\\_before%'",
    )
    counts = " UNION ALL ".join(f'SELECT count(*) FROM "{name}"' for (name,) in names)
    return sorted(count for (count,) in query(place, counts) if count)


@pytest.mark.parametrize("name", SAFE)
def test_what_loses_nothing_is_made_and_converges(place: PostgresPlace, name: str) -> None:
    edit, expected = SAFE[name]
    if name in TYPES_SAY_IT:
        expected = [line for line in expected if not line.startswith("change the rules")]
    tables, before = changed(edit), rows_of(place)
    planned = migrate.plan(place, tables)
    assert [str(change) for change in planned.changes] == expected
    assert migrate.apply(place, tables) == planned
    assert rows_of(place) == before
    again = changed(both(edit, lambda spec: spec["teams"].update(description="x")))
    assert migrate.plan(place, again).is_empty, "a full comparison finds nothing either"


@pytest.mark.parametrize("name", DESTRUCTIVE)
def test_what_loses_something_is_made_once_it_is_approved(place: PostgresPlace, name: str) -> None:
    edit, expected = DESTRUCTIVE[name]
    tables, old = changed(edit), rows_of(place)
    planned = migrate.plan(place, tables)
    with pytest.raises(MigrationRefused, match=f"bbops db approve {planned.hash}") as caught:
        migrate.apply(place, tables, {"another"})
    assert expected in str(caught.value)
    assert rows_of(place) == old
    assert migrate.apply(place, tables, {planned.hash}) == planned
    assert migrate.plan(place, tables).is_empty
    table = "members" if name.startswith("a table") else "people"
    assert query(place, f'SELECT count(*) FROM "_before_{planned.copy_name}_{table}"') == [(3,)]


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_what_rows_stand_in_the_way_of_names_them(place: PostgresPlace, name: str) -> None:
    edit, expected = IMPOSSIBLE[name]
    tables, before = changed(edit), rows_of(place)
    assert "impossible" in {change.risk for change in migrate.plan(place, tables).refused}
    with pytest.raises(MigrationRefused) as caught:
        migrate.apply(place, tables)
    assert expected in str(caught.value)
    assert rows_of(place) == before


def test_values_are_carried_over_as_what_they_become(place: PostgresPlace) -> None:
    edits = (
        to("code", "integer"),
        to("flag", "string", default=None),
        to("score", "decimal", default=None),
        to("born", "datetime"),
        to("seen", "text"),
        to("age", "string", minimum=None),
        rename("people", "nick", "alias"),
        lambda spec: spec["people"].pop("indexes"),
    )
    migrate.apply(place, changed(both(*edits)))
    columns = "code, flag, score::text, born::text, seen, age, alias"
    found = query(place, "SET TimeZone = 'UTC'", f"SELECT {columns} FROM people ORDER BY id")
    seen = "2026-01-01T11:00:00.000000Z"
    assert found[0] == (10, "false", "0.1", "2026-01-01 00:00:00+00", seen, "30", "same")
    assert found[2][5:] == (None, None)


def test_a_failing_migration_leaves_all_as_it_was(place: PostgresPlace) -> None:
    query(place, "CREATE VIEW codes AS SELECT code FROM people")
    tables = changed(both(to("more", "text", nullable=True), to("code", "integer")))
    before = query(place, "SELECT * FROM people ORDER BY id")
    with pytest.raises(Exception, match=r"cannot change table 'people': .*view"):
        migrate.apply(place, tables)
    assert query(place, "SELECT * FROM people ORDER BY id") == before
    assert not migrate.plan(place, tables).is_empty


def test_names_that_postgresql_would_cut_are_told_apart(schema: PostgresPlace) -> None:
    table, one, other = "t" * 60, "c" * 60, "c" * 61
    unique = {"type": "string", "maxLength": 5, "unique": True}
    refers = {"type": "integer", "nullable": True, "references": f"{table}.id"}
    columns = {"id": ID, one: unique, other: unique, "r" * 60: refers, "r" * 61: refers}
    spec: dict[str, Any] = {table: {"columns": columns, "checks": {"x" * 60: f"{one} != 'x'"}}}
    migrate.apply(schema, declare(spec))
    spec[table]["columns"][one] = {"type": "string", "maxLength": 9, "nullable": True}
    spec[table]["description"] = "compared once more"
    changes = [change.kind for change in migrate.apply(schema, declare(spec)).changes]
    allowed = (
        "allow null in column",
        "allow repeated values in column",
        "change the rules of column",
    )
    assert sorted(changes) == [*allowed]
    spec[table]["description"] = "and again"
    assert migrate.plan(schema, declare(spec)).is_empty


def test_a_row_that_comes_with_its_key_is_counted_on(place: PostgresPlace) -> None:
    spec = {**SPEC, "notes": {**SPEC["empty"], "seed": [{"id": 7, "title": "seven"}]}}
    migrate.apply(place, declare(spec))
    assert query(place, "INSERT INTO notes (title) VALUES ('next') RETURNING id") == [(8,)]
    assert migrate.insert_seed(place) == {"notes": 0}


def test_an_index_is_built_beside_those_who_write(place: PostgresPlace) -> None:
    tables = changed(people("word", unique=True))
    with psycopg.connect(place.address) as writer:
        writer.execute("SELECT 1")
        migrate.apply(place, tables)
    with pytest.raises(psycopg.errors.UniqueViolation):
        query(place, "UPDATE people SET word = 'same'")


def test_a_lost_column_is_kept_in_a_copy(place: PostgresPlace) -> None:
    tables = changed(drop("people", "price"))
    planned = migrate.plan(place, tables)
    migrate.apply(place, tables, {planned.hash})
    table = f"_before_{planned.copy_name}_people"
    kept = query(place, f"SELECT price::text FROM {table} ORDER BY id")
    assert kept == [("1.50",), ("2.50",), ("3.50",)]
