"""Every kind of change of a table, with what a plan says of it."""

from __future__ import annotations

from tests.support.changing import (
    Edit,
    both,
    check,
    drop,
    index,
    key,
    people,
    rename,
    rename_people,
    rename_teams_key,
    to,
)  # fmt: skip
from tests.support.migrating import ID

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
    "a unique index of some rows": (
        index("one_role", ["role"], unique=True, where="nick == null and not flag"),
        ["create index 'people.one_role'"],
    ),
    "a unique index of some rows, and a column of it is renamed": (
        both(
            rename("people", "nick", "alias"),
            index("one_role", ["role"], unique=True, where="alias == null and word != 'nick'"),
            index("people_by_nick", ["alias"]),
        ),
        ["rename column 'people.alias' (it was 'nick')", "create index 'people.one_role'"],
    ),
    "an index of other rows": (
        index("people_by_nick", ["nick"], where="age > 1.5"),
        ["create index 'people.people_by_nick'", "drop index 'people.people_by_nick'"],
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
        "forbid null in column 'people.nick' (1 row holds null and would get 'none': id 3)",
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
        "add column 'people.level' (3 rows violate the new rule: id 1, 2, 3)",
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
        "forbid null in column 'people.age' (1 row holds null: id 3)",
    ),
    "unique over duplicates": (
        people("nick", unique=True),
        "unique values in column 'people.nick' (2 rows share their value with another: id 1, 2)",
    ),
    "a unique index over duplicates": (
        index("u", ["team_id", "role"], unique=True),
        "create index 'people.u' (3 rows share their value with another: id 1, 2, 3)",
    ),
    "a unique index of some rows over duplicates": (
        index("u", ["role"], unique=True, where="nick == 'same'"),
        "create index 'people.u' (2 rows share their value with another: id 1, 2)",
    ),
    "a unique column with one value for all": (
        to("slug", "string", default="x", unique=True),
        "create index 'people.uq_people_slug' (3 rows share their value with another: id 1, 2, 3)",
    ),
    "a rule that rows break": (
        people("age", minimum=35),
        "change the rules of column 'people.age' (1 row violates the new rule: id 1)",
    ),
    "an enum that rows break": (
        people("code", enum=["10"]),
        "change the rules of column 'people.code' (2 rows violate the new rule: id 2, 3)",
    ),
    "a check that rows break": (
        check("old", "age != null and age > 35"),
        "change the checks of table 'people' (2 rows violate the new rule: id 1, 3)",
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
"""Those that can be made, and some that go together."""
