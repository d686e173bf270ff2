"""What happens between the phases: going back, going on, what is hidden and what stalls."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from bbops.base.errors import DatabaseError, MigrationRefused
from bbops.database.migrate import migrate, rollout
from bbops.language.resources.table import Table
from tests.support.changing import (
    ROWS,
    SPEC,
    both,
    changed,
    check,
    drop,
    people,
    rename,
    rename_people,
    rows_of,
    to,
)
from tests.support.database_commands import Commands
from tests.support.migrating import declare, query, schema_of

Tables = Mapping[str, Table]
OLD = declare(SPEC)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "data.sqlite"
    publish(path, OLD)
    for statement in ROWS:
        query(path, statement)
    return path


def publish(path: Path, wanted: Tables) -> list[str]:
    """Go through all phases, losses approved; return what the plan says."""
    planned = rollout.plan(path, wanted)
    rollout.expand(path, wanted, {planned.migration.hash})
    finish(path, wanted)
    return [str(change) for change in planned.migration.changes]


def finish(path: Path, wanted: Tables) -> None:
    """Go through the phases after the first."""
    if rollout.plan(path, wanted).phases.switches:
        rollout.switch(path, "a release", until=monotonic() + 60)
    rollout.settle(path, "a release")
    rollout.narrow(path)
    assert rollout.plan(path, wanted).is_done


def people_of(path: Path, column: str, table: str = "people") -> list[Any]:
    return [value for (value,) in query(path, f"SELECT {column} FROM {table} ORDER BY id")]


def hidden_in(path: Path) -> dict[str, int]:
    return {str(one): one.rows for one in rollout.find_hidden(path)}


def refusal(path: Path, wanted: Tables) -> str:
    before = schema_of(path), rows_of(path)
    with pytest.raises(MigrationRefused) as caught:
        rollout.expand(path, wanted)
    assert (schema_of(path), rows_of(path)) == before
    return str(caught.value)


def test_a_plan_says_when_each_change_is_made(database: Path) -> None:
    edits = both(
        rename("people", "nick", "alias"), lambda spec: spec["people"].pop("indexes"),
        people("word", maxLength=9), to("more", "string", default="m"), drop("people", "age"),
        drop("people", "unused"), to("code", "integer"), drop("empty", "title"),
    )  # fmt: skip
    said = [str(c) for c in rollout.plan(database, changed(edits)).migration.changes]
    assert said == [
        "rename column 'people.alias' (it was 'nick') at the swap",
        "add column 'people.more'",
        "drop column 'empty.title' after the swap",
        "drop column 'people.age' (2 rows would lose their value: id 1, 2) hidden after the swap",
        "change the type of column 'people.code' (string becomes integer) at the swap",
        "drop index 'people.people_by_nick' after the swap",
        "drop column 'people.unused' after the swap",
        "change the rules of column 'people.word' after the swap",
    ]


def test_what_is_refused_changes_nothing_and_names_the_approval(database: Path) -> None:
    wanted = changed(drop("people", "age"))
    name = rollout.plan(database, wanted).migration.hash
    assert f"approve it with 'bbops db approve {name}'" in refusal(database, wanted)
    impossible = changed(to("word", "integer"))
    assert "3 rows hold string that is no integer" in refusal(database, impossible)


def test_an_approval_outlives_a_publication_that_was_not_finished(database: Path) -> None:
    wanted = changed(both(drop("people", "age"), people("nick", nullable=None, default="n")))
    rollout.expand(database, wanted, {rollout.plan(database, wanted).migration.hash})
    assert not rollout.plan(database, wanted).migration.refused
    assert rollout.plan(database, changed(drop("people", "age"))).migration.refused, "another one"
    publish(database, wanted)
    assert people_of(database, "nick") == ["same", "same", "n"]
    assert people_of(database, "age") == [30, 40, None]


def test_what_was_added_for_a_release_that_never_went_live_goes_unasked(database: Path) -> None:
    tags = {**SPEC["empty"], "seed": [{"id": 1, "title": "one"}]}
    added = both(to("level", "string", default="two"), lambda spec: spec.update(tags=tags))
    rollout.expand(database, changed(added))
    assert people_of(database, "level") == ["two"] * 3
    other = changed(to("level", "integer", default=3))
    assert "drop table 'tags'" in publish(database, other)
    assert people_of(database, "level") == [3] * 3
    rollout.expand(database, OLD, {rollout.plan(database, OLD).migration.hash})
    assert people_of(database, "level") == [3] * 3, "it was live, and may be so again"
    publish(database, OLD)
    assert hidden_in(database) == {"people.level": 3}


def test_what_a_live_release_may_have_written_to_goes_only_when_approved(database: Path) -> None:
    wanted = changed(to("level", "integer", default=2))
    rollout.expand(database, wanted)
    rollout.settle(database, "a release")
    assert "drop column 'people.level' (3 rows would lose" in refusal(database, OLD)


def test_a_dropped_table_comes_back_with_its_rows_and_rules(database: Path) -> None:
    references = "SELECT count(*) FROM pragma_foreign_key_list('members')"
    publish(database, changed(lambda spec: spec.pop("members")))
    assert hidden_in(database) == {"members": 3}
    assert query(database, references) == [(0,)]
    assert publish(database, OLD) != []
    assert hidden_in(database) == {}
    assert query(database, references) == [(2,)]
    assert query(database, "SELECT count(*) FROM members") == [(3,)]


def test_a_hidden_column_comes_back_under_another_name_and_in_a_renamed_table(
    database: Path,
) -> None:
    publish(database, changed(drop("people", "age")))
    publish(database, changed(both(drop("people", "age"), rename_people)))
    assert hidden_in(database) == {"persons.age": 2}
    years = {"type": "integer", "nullable": True, "renamedFrom": "age"}
    edits = both(
        drop("people", "age"), rename_people, lambda s: s["persons"]["columns"].update(years=years)
    )
    publish(database, changed(edits))
    assert people_of(database, "years", "persons") == [30, 40, None]
    assert hidden_in(database) == {}


def test_a_hidden_column_of_another_type_is_to_be_deleted_first(database: Path) -> None:
    publish(database, changed(drop("people", "age")))
    again = changed(both(drop("people", "age"), to("age", "text", nullable=True)))
    assert "hidden with values of type integer, and declared as text" in refusal(database, again)
    (gone,) = rollout.delete_hidden(database, "test")
    assert (str(gone), gone.rows) == ("people.age", 2)
    kept = database.with_name("data.sqlite.before-test")
    assert people_of(kept, "age") == [30, 40, None]
    publish(database, again)
    assert people_of(database, "age") == [None] * 3


def test_what_a_publication_brings_back_is_not_deleted(database: Path) -> None:
    publish(database, changed(drop("people", "age")))
    rollout.expand(database, OLD)
    assert rollout.delete_hidden(database, "test") == ()
    finish(database, OLD)
    assert people_of(database, "age") == [30, 40, None]


def test_a_required_column_is_hidden_and_lets_rows_without_it_in(database: Path) -> None:
    wanted = changed(both(drop("people", "email"), drop("people", "team_id")))
    publish(database, wanted)
    query(database, "CREATE TABLE _copy AS SELECT * FROM people WHERE id = 1")
    query(database, "UPDATE _copy SET id = NULL, email = NULL, team_id = NULL")
    query(database, "INSERT INTO people SELECT * FROM _copy")
    message = refusal(database, OLD)
    assert "forbid null in column 'people.email' (1 row holds null: id 4)" in message
    query(database, "UPDATE people SET email = 'new@x', team_id = 1 WHERE id = 4")
    publish(database, OLD)
    assert people_of(database, "email") == ["1@x", "2@x", "3@x", "new@x"]


def test_a_switch_that_is_late_changes_nothing_and_one_that_was_made_is_not_made_twice(
    database: Path,
) -> None:
    wanted = changed(to("code", "integer"))
    rollout.expand(database, wanted)
    before = schema_of(database)
    with pytest.raises(DatabaseError, match="took longer than requests can wait"):
        rollout.switch(database, "r1", until=monotonic() - 1)
    assert schema_of(database) == before
    rollout.switch(database, "r1", until=monotonic() + 60)
    assert rollout.find_release(database) == "r1"
    rollout.switch(database, "r1", until=monotonic() - 1)
    assert people_of(database, "code") == [10, 20, 30]


def test_a_switch_that_takes_too_long_is_undone(database: Path) -> None:
    wanted = changed(to("code", "integer"))
    query(database, "CREATE TABLE _many AS SELECT * FROM people WHERE id = 1")
    query(
        database,
        "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 20000)"
        " INSERT INTO people SELECT NULL, 'mail' || n, age, role, nick, code, word, flag, score,"
        " whole, price, born, seen, at, key, data, raw, team_id, lead_id, unused FROM _many, n",
    )
    rollout.expand(database, wanted)
    before = schema_of(database)
    with pytest.raises(DatabaseError, match="took longer than requests"):
        rollout.switch(database, "r1", until=monotonic() + 0.05)
    assert schema_of(database) == before
    assert query(database, "PRAGMA integrity_check") == [("ok",)]


def test_values_that_a_type_does_not_keep_are_kept_in_a_copy(database: Path) -> None:
    wanted = changed(to("seen", "date"))
    name = rollout.plan(database, wanted).migration.copy_name
    publish(database, wanted)
    assert people_of(database, "seen")[0] == "2026-01-01"
    kept = database.with_name(f"data.sqlite.before-{name}")
    assert people_of(kept, "seen")[0] == "2026-01-01T11:00:00.000000Z"


def test_rows_that_break_a_rule_meanwhile_stall_the_narrowing_and_nothing_else(
    database: Path,
) -> None:
    wanted = changed(both(people("word", maxLength=2), people("age", minimum=18)))
    rollout.expand(database, wanted)
    query(database, "UPDATE people SET word = 'long' WHERE id = 2")
    rollout.settle(database, "a release")
    with pytest.raises(MigrationRefused) as caught:
        rollout.narrow(database)
    assert "'people.word' (1 row violates the new rule: id 2)" in caught.value.message
    assert "bbops db narrow" in caught.value.hint
    assert rollout.plan(database, wanted).is_behind
    query(database, "UPDATE people SET word = 'ok' WHERE id = 2")
    rollout.narrow(database)
    assert not rollout.plan(database, wanted).is_behind


def test_seed_rows_come_before_the_swap_also_with_new_names(database: Path) -> None:
    edits = both(
        rename("empty", "title", "name"),
        lambda spec: spec["empty"].update(seed=[{"id": 5, "name": "five"}]),
    )
    wanted = changed(edits)
    rollout.expand(database, wanted)
    assert query(database, "SELECT * FROM empty") == []
    rollout.switch(database, "r1", until=monotonic() + 60)
    assert query(database, "SELECT id, name FROM empty") == [(5, "five")]
    query(database, "DELETE FROM empty")
    finish(database, wanted)
    query(database, "DELETE FROM empty")
    rollout.expand(database, wanted)
    assert query(database, "SELECT id, name FROM empty") == [(5, "five")]


def test_tables_of_a_database_without_a_record_are_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "data.sqlite"
    migrate.apply(path, OLD)
    query(path, "DROP TABLE _bbops_notes")
    assert rollout.plan(path, OLD).is_done
    query(path, "DROP TABLE _bbops_schema")
    publish(path, OLD)
    assert hidden_in(path) == {}


def test_a_check_holds_from_the_narrowing_on_and_ends_before_the_swap(database: Path) -> None:
    wanted = changed(check("grown", "age == null or age >= 18"))
    planned = rollout.plan(database, wanted)
    rollout.expand(database, wanted)
    assert str(planned.migration.changes[0]) == "change the checks of table 'people' after the swap"
    query(database, "UPDATE people SET age = 17 WHERE id = 1")
    rollout.settle(database, "a release")
    with pytest.raises(MigrationRefused, match="1 row violates the new rule: id 1"):
        rollout.narrow(database)
    query(database, "UPDATE people SET age = 18 WHERE id = 1")
    rollout.narrow(database)
    assert rollout.plan(database, wanted).is_done
    with pytest.raises(sqlite3.IntegrityError, match="CHECK"):
        query(database, "UPDATE people SET age = 17 WHERE id = 1")
    assert publish(database, changed(drop("people", "unused")))[0] == (
        "change the checks of table 'people'"
    )
    query(database, "UPDATE people SET age = 17 WHERE id = 1")


@pytest.mark.long
def test_the_command_deletes_what_is_hidden_and_says_what_that_was(
    database: Path, tmp_path: Path
) -> None:
    commands = Commands(tmp_path, tmp_path / "home")
    at = ("narrow", "--state", tmp_path)
    assert commands.json(*at) == {"deleted": {}, "kept": None}
    publish(database, changed(both(drop("people", "age"), lambda spec: spec.pop("members"))))
    assert commands.json(*at, "--dry-run") == {"hidden": {"members": 3, "people.age": 2}}
    told = commands.run(*at).stdout.splitlines()
    assert told[:2] == [
        "deleted  members, 3 rows with a value", "deleted  people.age, 2 rows with a value",
    ]  # fmt: skip
    kept = Path(told[2].partition("'")[2].rstrip("'"))
    assert people_of(kept, "age") == [30, 40, None]
    assert hidden_in(database) == {}
    assert "nothing is hidden; the rules" in commands.run(*at).stdout
