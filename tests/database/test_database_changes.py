"""Every kind of change of a table: what is made unasked, what waits, and what becomes of rows."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from bbops.base.errors import MigrationRefused
from bbops.database.migrate import migrate
from bbops.database.sqlite.connection import connect
from tests.support.changing import (
    SPEC,
    both,
    changed,
    database,
    drop,
    original,
    people,
    rename,
    rows_of,
    to,
)  # fmt: skip
from tests.support.migrating import declare, query
from tests.support.table_changes import DESTRUCTIVE, IMPOSSIBLE, SAFE

__all__ = ["database", "original"]


@pytest.mark.parametrize("name", SAFE)
def test_what_loses_nothing_is_made_and_converges(database: Path, name: str) -> None:
    edit, expected = SAFE[name]
    tables, before = changed(edit), rows_of(database)
    planned = migrate.plan(database, tables)
    assert [str(change) for change in planned.changes] == expected
    assert migrate.apply(database, tables) == planned
    assert rows_of(database) == before
    again = changed(both(edit, lambda spec: spec["teams"].update(description="x")))
    assert migrate.plan(database, again).is_empty, "a full comparison finds nothing either"
    assert query(database, "PRAGMA integrity_check") == [("ok",)]
    assert query(database, "PRAGMA foreign_key_check") == []


@pytest.mark.parametrize("name", DESTRUCTIVE)
def test_what_loses_something_is_made_once_it_is_approved(database: Path, name: str) -> None:
    tables = changed(DESTRUCTIVE[name][0])
    planned = migrate.plan(database, tables)
    with pytest.raises(MigrationRefused, match=f"bbops db approve {planned.hash}"):
        migrate.apply(database, tables, {"another"})
    old = rows_of(database)
    assert migrate.apply(database, tables, {planned.hash}) == planned
    assert migrate.plan(database, tables).is_empty
    assert query(database, "PRAGMA foreign_key_check") == []
    kept = database.with_name(f"data.sqlite.before-{planned.copy_name}")
    assert rows_of(kept) == old
    assert query(kept, "SELECT count(age) FROM people") == [(2,)]


def test_an_approval_counts_once(database: Path) -> None:
    without = changed(drop("people", "age"))
    approved = {migrate.plan(database, without).hash}
    migrate.apply(database, without, approved)
    migrate.apply(database, declare(SPEC), approved)
    query(database, "UPDATE people SET age = 1")
    with pytest.raises(MigrationRefused, match=r"drop column 'people\.age'"):
        migrate.apply(database, without, approved)


def test_an_approval_does_not_make_the_impossible(database: Path) -> None:
    tables = changed(both(drop("people", "price"), to("word", "integer")))
    planned = migrate.plan(database, tables)
    assert not planned.is_waiting
    with pytest.raises(MigrationRefused) as caught:
        migrate.apply(database, tables, {planned.hash})
    assert "approve" not in caught.value.hint


def test_values_are_carried_over_as_what_they_become(database: Path) -> None:
    edits = (
        to("code", "integer"),
        to("flag", "string", default=None),
        to("score", "decimal", default=None),
        to("born", "datetime"),
        to("age", "string", minimum=None),
        rename("people", "nick", "alias"),
        lambda spec: spec["people"].pop("indexes"),
    )
    migrate.apply(database, changed(both(*edits)))
    found = query(database, "SELECT code, flag, score, born, age, alias FROM people")
    assert found[0] == (10, "false", "0.1", "2026-01-01T00:00:00.000000Z", "30", "same")
    assert found[2] == (30, "false", "0.1", "2026-01-03T00:00:00.000000Z", None, None)


def test_a_key_once_given_is_not_given_again_after_a_rebuild(database: Path) -> None:
    query(database, "DELETE FROM people WHERE id = 3")
    migrate.apply(database, changed(people("word", nullable=True)))
    query(database, "CREATE TABLE _copy AS SELECT * FROM people WHERE id = 2")
    query(database, "UPDATE _copy SET id = NULL, email = 'new@x'")
    query(database, "INSERT INTO people SELECT * FROM _copy")
    assert query(database, "SELECT id FROM people ORDER BY id") == [(1,), (2,), (4,)]


def test_references_to_a_rebuilt_table_still_cascade(database: Path) -> None:
    teams = changed(lambda spec: spec["teams"]["columns"]["name"].update(maxLength=9))
    migrate.apply(database, teams)
    query(database, "DELETE FROM members")
    with closing(connect(database)) as live:
        live.execute("DELETE FROM teams WHERE id = 1")
        assert live.execute("SELECT count(*) FROM people").fetchone() == (0,)


def test_views_and_triggers_of_others_outlive_a_rebuild(database: Path) -> None:
    query(database, "CREATE VIEW reds AS SELECT email FROM people WHERE team_id = 1")
    query(
        database,
        "CREATE TRIGGER shout AFTER INSERT ON teams"
        " BEGIN UPDATE people SET word = upper(new.name); END",
    )
    tables = changed(both(people("word", nullable=True), rename("teams", "name", "title")))
    migrate.apply(database, tables)
    query(database, "INSERT INTO teams (title) VALUES ('green')")
    assert query(database, "SELECT DISTINCT word FROM people") == [("GREEN",)]
    assert len(query(database, "SELECT * FROM reds")) == 3


def test_virtual_tables_of_others_are_left_alone(database: Path) -> None:
    query(database, "CREATE VIRTUAL TABLE words USING fts5 (word)")
    query(database, "INSERT INTO words VALUES ('found')")
    tables = changed(both(people("word", nullable=True), lambda spec: spec.pop("empty")))
    assert "words" not in str(migrate.apply(database, tables).changes)
    assert query(database, "SELECT * FROM words WHERE words MATCH 'found'") == [("found",)]


def test_planning_changes_no_byte_of_the_file(database: Path) -> None:
    before = database.read_bytes()
    for edit, *_ in (*SAFE.values(), *DESTRUCTIVE.values(), *IMPOSSIBLE.values()):
        migrate.plan(database, changed(edit))
    assert database.read_bytes() == before


def test_a_plan_has_the_same_name_while_it_would_do_the_same(database: Path) -> None:
    tables = changed(drop("people", "age"))
    name = migrate.plan(database, tables).hash
    query(database, "DELETE FROM members")
    query(database, "DELETE FROM people WHERE id = 1")
    assert migrate.plan(database, tables).hash == name
    assert migrate.plan(database, changed(drop("people", "price"))).hash != name
    query(database, "UPDATE people SET age = NULL")
    assert migrate.plan(database, tables).hash != name, "it loses nothing any more"
