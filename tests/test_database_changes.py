"""Every kind of change of a table: what is made unasked, what waits, what cannot be."""

from __future__ import annotations

import copy
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bbops.database import migrate
from bbops.database.connection import connect
from bbops.errors import MigrationRefused
from tests.migrating import ID, declare, query, schema_of

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


SAFE: dict[str, tuple[Edit, list[str]]] = {
    "a table": (
        lambda spec: spec.update(tags={"columns": {"id": ID}}),
        ["create table 'tags'"],
    ),
    "an empty table goes": (lambda spec: spec.pop("empty"), ["drop table 'empty'"]),
    "a table is renamed": (rename_people, ["rename table 'persons' (it was 'people')"]),
    "a table with a composite key is renamed": (
        lambda spec: spec.update(joins={**spec.pop("members"), "renamedFrom": "members"}),
        ["rename table 'joins' (it was 'members')"],
    ),
    "a column with rules is renamed": (
        rename("people", "email", "mail"),
        ["rename column 'people.mail' (it was 'email')"],
    ),
    "an indexed column is renamed": (
        both(
            rename("people", "nick", "alias"),
            lambda spec: spec["people"]["indexes"]["people_by_nick"].update(columns=["alias"]),
        ),
        ["rename column 'people.alias' (it was 'nick')"],
    ),
    "a column that others refer to is renamed": (
        rename_teams_key,
        ["rename column 'teams.number' (it was 'id')"],
    ),
    "a part of a composite key is renamed": (
        both(
            rename("members", "person_id", "who_id"),
            lambda spec: spec["members"].update(primaryKey=["team_id", "who_id"]),
        ),
        ["rename column 'members.who_id' (it was 'person_id')"],
    ),
    "a table and a column of it are renamed": (
        both(rename("people", "code", "number"), rename_people),
        [
            "rename table 'persons' (it was 'people')",
            "rename column 'persons.number' (it was 'code')",
        ],
    ),
    "a column is renamed and changes its type": (
        both(rename("people", "code", "number"), to("number", "integer")),
        [
            "rename column 'people.number' (it was 'code')",
            "change the type of column 'people.number' (string becomes integer)",
        ],
    ),
    "an old name that is still declared is no rename": (
        people("nick2", type="string", nullable=True, renamedFrom="nick"),
        ["add column 'people.nick2'"],
    ),
    "a nullable column": (to("extra", "text", nullable=True), ["add column 'people.extra'"]),
    "a column with a default": (
        to("level", "integer", default=2, minimum=1),
        ["add column 'people.level'"],
    ),
    "a reference": (
        to("boss_id", "integer", nullable=True, references="people.id"),
        ["add column 'people.boss_id'", "create index 'people.ix_people_boss_id'"],
    ),
    "a time of creation": (
        to("made_at", "datetime", auto="created"),
        ["add column 'people.made_at' (3 rows get the time of the migration)"],
    ),
    "a required column in an empty table": (
        lambda spec: spec["empty"]["columns"].update(more={"type": "uuid"}),
        ["add column 'empty.more'"],
    ),
    "a column without values goes": (drop("people", "unused"), ["drop column 'people.unused'"]),
    "text of digits becomes integer": (
        to("code", "integer"),
        ["change the type of column 'people.code' (string becomes integer)"],
    ),
    "text of digits becomes decimal": (
        to("code", "decimal"),
        ["change the type of column 'people.code' (string becomes decimal)"],
    ),
    "integer becomes text": (
        both(to("age", "string", minimum=None)),
        [
            "change the rules of column 'people.age'",
            "change the type of column 'people.age' (integer becomes string)",
        ],
    ),
    "integer becomes number": (
        to("age", "number"),
        ["change the type of column 'people.age' (integer becomes number)"],
    ),
    "integer becomes decimal": (
        to("age", "decimal"),
        [
            "change the rules of column 'people.age'",
            "change the type of column 'people.age' (integer becomes decimal)",
        ],
    ),
    "integer becomes bigint": (to("age", "bigint"), []),
    "boolean becomes integer": (
        to("flag", "integer", default=0),
        [
            "change the rules of column 'people.flag'",
            "change the type of column 'people.flag' (boolean becomes integer)",
        ],
    ),
    "boolean becomes text": (
        to("flag", "string", default=None),
        [
            "change the default of column 'people.flag'",
            "change the rules of column 'people.flag'",
            "change the type of column 'people.flag' (boolean becomes string)",
        ],
    ),
    "whole numbers become integer": (
        to("whole", "integer"),
        ["change the type of column 'people.whole' (number becomes integer)"],
    ),
    "number becomes text": (
        to("score", "string", default=None),
        [
            "change the default of column 'people.score'",
            "change the type of column 'people.score' (number becomes string)",
        ],
    ),
    "decimal becomes number": (
        to("price", "number"),
        ["change the type of column 'people.price' (decimal becomes number)"],
    ),
    "date becomes datetime": (
        to("born", "datetime"),
        ["change the type of column 'people.born' (date becomes datetime)"],
    ),
    "a date becomes text": (to("born", "string"), []),
    "a uuid becomes text": (to("key", "text"), []),
    "json becomes text": (to("data", "text"), []),
    "any type in an empty table": (
        lambda spec: spec["empty"]["columns"].update(title={"type": "binary"}),
        ["change the type of column 'empty.title' (string becomes binary)"],
    ),
    "null is allowed": (people("code", nullable=True), ["allow null in column 'people.code'"]),
    "null is forbidden where there is none": (
        lambda spec: spec["teams"]["columns"]["name"].update(nullable=False, maxLength=9),
        ["change the rules of column 'teams.name'"],
    ),
    "another default": (
        people("score", default=2),
        ["change the default of column 'people.score'"],
    ),
    "a default": (people("word", default="w"), ["change the default of column 'people.word'"]),
    "no default": (
        people("role", default=None),
        ["change the default of column 'people.role'"],
    ),
    "unique": (
        people("word", unique=True),
        ["require unique values in column 'people.word'"],
    ),
    "no longer unique": (
        people("email", unique=None),
        ["allow repeated values in column 'people.email'"],
    ),
    "a longer enum": (
        people("role", enum=["a", "b", "c"]),
        ["change the rules of column 'people.role'"],
    ),
    "a shorter enum that all rows keep": (
        people("role", enum=["a"]),
        ["change the rules of column 'people.role'"],
    ),
    "no enum": (people("role", enum=None), ["change the rules of column 'people.role'"]),
    "an enum on free text": (
        people("code", enum=["10", "20", "30"]),
        ["change the rules of column 'people.code'"],
    ),
    "a rule": (people("word", maxLength=2), ["change the rules of column 'people.word'"]),
    "another rule": (people("age", minimum=18), ["change the rules of column 'people.age'"]),
    "no rule": (people("age", minimum=None), ["change the rules of column 'people.age'"]),
    "a reference on a column": (
        people("lead_id", references="teams.id"),
        [
            "create index 'people.ix_people_lead_id'",
            "change the reference of column 'people.lead_id'",
        ],
    ),
    "another action of a reference": (
        people("team_id", onDelete="restrict"),
        ["change the reference of column 'people.team_id'"],
    ),
    "no reference": (
        people("team_id", references=None, onDelete=None),
        ["change the reference of column 'people.team_id'"],
    ),
    "an index": (index("by_word", ["word", "id"]), ["create index 'people.by_word'"]),
    "a unique index": (
        index("by_word", ["word"], unique=True),
        ["create index 'people.by_word'"],
    ),
    "an index goes": (
        lambda spec: spec["people"].pop("indexes"),
        ["drop index 'people.people_by_nick'"],
    ),
    "an index over other columns": (
        index("people_by_nick", ["nick", "age"]),
        ["create index 'people.people_by_nick'", "drop index 'people.people_by_nick'"],
    ),
    "a key no longer counts up": (
        people("id", auto=None),
        ["change the primary key of table 'people'"],
    ),
    "a longer composite key": (
        both(
            key("members", ["team_id", "person_id", "rank"]),
            lambda spec: spec["members"]["columns"].update(rank={"type": "integer", "default": 1}),
        ),
        ["add column 'members.rank'", "change the primary key of table 'members'"],
    ),
    "another order in a composite key": (
        key("members", ["person_id", "team_id"]),
        [
            "create index 'members.ix_members_team_id'",
            "change the primary key of table 'members'",
        ],
    ),
    "a composite key in place of one column": (
        key("empty", ["title", "id"]),
        ["change the primary key of table 'empty'"],
    ),
    "a check": (
        check("grown", "age == null or age >= 18"),
        ["change the checks of table 'people'"],
    ),
    "a check of several columns": (
        check("sane", "price > 0.5 and not flag or score < 3 and nick != 'x'"),
        ["change the checks of table 'people'"],
    ),
    "many changes of one table": (
        both(
            people("word", nullable=True, unique=True),
            people("email", maxLength=60),
            to("more", "string", default="m"),
            rename("people", "nick", "alias"),
            lambda spec: spec["people"].pop("indexes"),
        ),
        [
            "rename column 'people.alias' (it was 'nick')",
            "add column 'people.more'",
            "change the rules of column 'people.email'",
            "drop index 'people.people_by_nick'",
            "allow null in column 'people.word'",
            "require unique values in column 'people.word'",
        ],
    ),
}


def rows_of(path: Path) -> list[Any]:
    """Count the rows of every table but the ones that have none."""
    names = query(
        path, "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    )
    counts = (query(path, f'SELECT count(*) FROM "{name}"')[0][0] for (name,) in names)
    return sorted(count for count in counts if count)


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


DESTRUCTIVE: dict[str, tuple[Edit, str]] = {
    "a table with rows goes": (
        lambda spec: spec.pop("members"),
        "drop table 'members' (3 rows would be lost)",
    ),
    "a column with values goes": (
        drop("people", "age"),
        "drop column 'people.age' (2 rows would lose their value: id 1, 2)",
    ),
    "datetime becomes date": (
        to("seen", "date"),
        "'people.seen' (3 rows hold datetime that date does not keep whole: id 1, 2, 3)",
    ),
    "datetime becomes time": (
        to("seen", "time"),
        "(3 rows hold datetime that time does not keep whole: id 1, 2, 3)",
    ),
    "null gives way to a default": (
        people("nick", nullable=None, default="none"),
        "forbid null in column 'people.nick' (1 rows hold null and would get 'none': id 3)",
    ),
}
IMPOSSIBLE: dict[str, tuple[Edit, str]] = {
    "a required column without a value": (
        to("extra", "string"),
        "add column 'people.extra' (3 rows would have no value for it)",
    ),
    "a required uuid": (to("uid", "uuid", auto="uuid"), "(3 rows would have no value for it)"),
    "a column whose default breaks its own rule": (
        to("level", "integer", default=1, minimum=2),
        "add column 'people.level' (3 rows break the new rule: id 1, 2, 3)",
    ),
    "a column whose default refers to nothing": (
        to("other_id", "integer", default=9, references="teams.id"),
        "add column 'people.other_id' (3 rows refer to nothing: id 1, 2, 3)",
    ),
    "words become integer": (
        to("word", "integer"),
        "change the type of column 'people.word' (3 rows hold string that is no integer: id 1, 2,",
    ),
    "fractions become integer": (
        to("score", "integer", default=1),
        "(3 rows hold number that is no integer: id 1, 2, 3)",
    ),
    "words become a uuid": (to("word", "uuid"), "(3 rows hold string that is no uuid"),
    "words become a date": (to("word", "date"), "(3 rows hold string that is no date"),
    "words become json": (to("word", "json"), "(3 rows hold string that is no json"),
    "words become boolean": (to("word", "boolean"), "(3 rows hold string that is no boolean"),
    "bytes become text": (to("raw", "text"), "(3 rows hold binary that is no text"),
    "text becomes bytes": (to("word", "binary"), "(3 rows hold string that is no binary"),
    "time becomes datetime": (to("at", "datetime"), "(3 rows hold time that is no datetime"),
    "null is forbidden": (
        people("age", nullable=None),
        "forbid null in column 'people.age' (1 rows hold null: id 3)",
    ),
    "unique over duplicates": (
        people("nick", unique=True),
        "unique values in column 'people.nick' (2 rows share their value with another: id 1, 2)",
    ),
    "a unique index over duplicates": (
        index("u", ["team_id", "role"], unique=True),
        "create index 'people.u' (3 rows share their value with another: id 1, 2, 3)",
    ),
    "a unique column with one value for all": (
        to("slug", "string", default="x", unique=True),
        "create index 'people.uq_people_slug' (3 rows share their value with another: id 1, 2, 3)",
    ),
    "a rule that rows break": (
        people("age", minimum=35),
        "change the rules of column 'people.age' (1 rows break the new rule: id 1)",
    ),
    "an enum that rows break": (
        people("code", enum=["10"]),
        "change the rules of column 'people.code' (2 rows break the new rule: id 2, 3)",
    ),
    "a check that rows break": (
        check("old", "age != null and age > 35"),
        "change the checks of table 'people' (2 rows break the new rule: id 1, 3)",
    ),
    "a reference to nothing": (
        people("age", references="teams.id"),
        "change the reference of column 'people.age' (2 rows refer to nothing: id 1, 2)",
    ),
    "a primary key over duplicates": (
        key("members", ["team_id"]),
        "change the primary key of table 'members' (2 rows share their value with another",
    ),
}


@pytest.mark.parametrize("name", DESTRUCTIVE)
def test_what_loses_something_is_told_with_its_rows(database: Path, name: str) -> None:
    edit, expected = DESTRUCTIVE[name]
    assert expected in refusal(database, changed(edit), "destructive")


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
    kept = database.with_name(f"data.sqlite.before-{planned.hash}")
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


def test_digits_that_would_not_come_back_the_same_wait(database: Path) -> None:
    query(database, "UPDATE people SET code = '007' WHERE id = 2")
    message = refusal(database, changed(to("code", "integer")), "destructive")
    assert "'people.code' (1 rows hold string that integer does not keep whole: id 2)" in message


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_what_rows_stand_in_the_way_of_names_them_and_the_cure(database: Path, name: str) -> None:
    edit, expected = IMPOSSIBLE[name]
    message = refusal(database, changed(edit), "impossible")
    assert expected in message
    assert "hint:" in message


def refusal(path: Path, tables: dict[str, Any], risk: str) -> str:
    before = schema_of(path), rows_of(path)
    assert risk in {change.risk for change in migrate.plan(path, tables).refused}
    with pytest.raises(MigrationRefused) as caught:
        migrate.apply(path, tables)
    assert (schema_of(path), rows_of(path)) == before
    return str(caught.value)


def test_values_that_become_equal_are_no_longer_unique(tmp_path: Path) -> None:
    column = {"type": "datetime", "unique": True}
    path = tmp_path / "data.sqlite"
    migrate.apply(path, declare({"days": {"columns": {"id": ID, "day": column}}}))
    for hour in (1, 2):
        query(path, f"INSERT INTO days (day) VALUES ('2026-01-01T0{hour}:00:00.000000Z')")
    tables = declare({"days": {"columns": {"id": ID, "day": {**column, "type": "date"}}}})
    message = refusal(path, tables, "impossible")
    assert "'days.day' (2 rows share their value with another: id 1, 2)" in message


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


KILLED = """
import os, signal, sqlite3, sys
from pathlib import Path
from tests.test_database_changes import SAFE, changed, migrate

class Killed(sqlite3.Connection):
    left = int(sys.argv[2])
    def execute(self, *args):
        Killed.left -= 1
        if not Killed.left:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().execute(*args)

connect = sqlite3.connect
sqlite3.connect = lambda *a, **k: connect(*a, **{**k, "factory": Killed})
migrate.apply(Path(sys.argv[1]), changed(SAFE["many changes of one table"][0]))
print(int(sys.argv[2]) - Killed.left)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_a_migrator_killed_at_any_statement_leaves_the_old_tables_or_the_new(
    database: Path,
) -> None:
    tables = changed(SAFE["many changes of one table"][0])
    old, rows = schema_of(database), rows_of(database)
    whole = database.with_name("whole.sqlite")
    shutil.copy(database, whole)
    statements = migrate_in_child(whole, kill_at=0)
    for number in (1, statements, *random.Random(5).sample(range(2, statements), 6)):
        path = database.with_name(f"{number}.sqlite")
        shutil.copy(database, path)
        assert migrate_in_child(path, kill_at=number) == -signal.SIGKILL
        assert query(path, "PRAGMA integrity_check") == [("ok",)]
        assert schema_of(path) in (old, schema_of(whole))
        migrate.apply(path, tables)
        assert (schema_of(path), rows_of(path)) == (schema_of(whole), rows)


def migrate_in_child(path: Path, *, kill_at: int) -> int:
    """Return the number of statements that were run, or minus the signal that ended them."""
    command = [sys.executable, "-c", KILLED, str(path), str(kill_at)]
    root = Path(__file__).parent.parent
    ended = subprocess.run(command, check=False, cwd=root, capture_output=True, text=True)
    return ended.returncode or int(ended.stdout)
