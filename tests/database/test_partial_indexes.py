"""Indexes of some rows of a table keep their condition through renames, on both databases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from bbops.compiler.testing.client import Reply
from bbops.database.migrate import drift, migrate
from bbops.language.resources.table import Table
from bbops.runtime.values.failures import DatabaseFailure
from tests.support.migrating import ID, declare
from tests.support.postgres import DATABASES, place_of
from tests.support.workbench import Bench

USERS = """columns:
  id: { type: integer, primaryKey: true, auto: increment }
  email: { type: string }
  visits: { type: integer, default: 1 }
  deleted_at: { type: datetime, nullable: true }
indexes:
  one_email: { columns: [email], unique: true, where: deleted_at == null }
softDelete: deleted_at
"""


@pytest.fixture(params=DATABASES)
def bench(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Bench]:
    with (
        place_of(request, tmp_path_factory.mktemp("partial")) as place,
        Bench(place, {"tables/users.yaml": USERS}) as found,
    ):
        yield found


def columns(email: str = "email", gone: str = "deleted_at", **more: Any) -> dict[str, Any]:
    old = {} if email == "email" else {"renamedFrom": "email"}
    was = {} if gone == "deleted_at" else {"renamedFrom": "deleted_at"}
    return {
        "id": ID, email: {"type": "string", **old}, "visits": {"type": "integer", "default": 1},
        gone: {"type": "datetime", "nullable": True, **was}, **more,
    }  # fmt: skip


def tables(bench: Bench, where: str, email: str = "email", **more: Any) -> dict[str, Table]:
    gone = more.pop("gone", "deleted_at")
    index = {"columns": [email], "unique": True, "where": where}
    users = {"columns": columns(email, gone, **more), "indexes": {"one_email": index}}
    return {**bench.tables, **declare({"users": users})}


def test_a_renamed_column_is_renamed_in_the_condition(bench: Bench) -> None:
    renamed = tables(bench, "gone_at == null", "mail", gone="gone_at")
    planned = migrate.apply(bench.place, renamed)
    assert [one.kind for one in planned.changes] == ["rename column"] * 2
    said = {**renamed, "users": renamed["users"].model_copy(update={"description": "compared"})}
    assert migrate.plan(bench.place, said).is_empty
    assert drift.find_drift(bench.place).found == ()
    bench.sql("INSERT INTO users (mail, gone_at) VALUES ('a', '2026-01-01T00:00:00Z'), ('a', NULL)")
    with pytest.raises(DatabaseFailure) as caught:
        bench.sql("INSERT INTO users (mail) VALUES ('a')")
    assert caught.value.columns == ("mail",)


def test_another_condition_is_another_index(bench: Bench) -> None:
    bench.sql("INSERT INTO users (email, visits) VALUES ('a', 1), ('b', 2)")
    planned = migrate.apply(bench.place, tables(bench, "visits == 1"))
    assert [one.kind for one in planned.changes] == ["create index", "drop index"]
    bench.sql("INSERT INTO users (email, visits) VALUES ('b', 2)")
    refused = migrate.plan(bench.place, tables(bench, "visits == 2")).refused
    assert [str(one) for one in refused] == [
        "create index 'users.one_email' (2 rows share their value with another: id 2, 3)"
    ]


def test_what_somebody_else_has_made_is_left_alone(bench: Bench) -> None:
    bench.sql("CREATE INDEX by_hand ON users (visits) WHERE visits > 3")
    more = tables(bench, "deleted_at == null", more={"type": "integer", "nullable": True})
    planned = migrate.apply(bench.place, more)
    assert [str(one) for one in planned.changes] == ["add column 'users.more'"]
    bench.sql("DROP INDEX by_hand")


# ---- in steps
def ask(bench: Bench, steps: str, body: Any = None) -> Reply:
    return bench.ask(bench.client(f"input: {{ data: json }}\nsteps:\n{steps}"), {"data": body or 0})


ADD = """  - insert:
      table: users
      data: {data}
      onConflict: {{ columns: [email], do: {do} }}
    as: user
  - return: ${{ vars.user }}
"""


@pytest.mark.parametrize(
    ("data", "do"),
    [
        ("{ email: a }", "update"), ("{ email: a }", "ignore"),
        ("{ email: a }", "{ visits: '${ row.visits + 1 }' }"),
        ("${ input.data }", "update"), ("${ input.data }", "ignore"),
    ],
)  # fmt: skip
def test_a_conflict_is_one_with_the_rows_of_the_index(bench: Bench, data: str, do: str) -> None:
    bench.sql("INSERT INTO users (email, deleted_at) VALUES ('a', '2026-01-01T00:00:00Z')")
    add = ADD.format(data=data, do=do)
    assert ask(bench, add, {"email": "a"}).json["id"] == 2
    again = ask(bench, add, {"email": "a"}).json
    assert (again and again["id"]) == (None if do == "ignore" else 2)
    assert bench.sql("SELECT count(*) FROM users") == [(2,)]


def test_one_is_known_to_be_one_where_the_condition_holds(bench: Bench) -> None:
    bench.sql("INSERT INTO users (email) VALUES ('a'), ('b')")
    steps = "  - update: { table: users, where: email == 'a', data: { visits: 9 }, one: true }\n"
    assert ask(bench, steps + "    as: user\n  - return: ${ vars.user }\n").json["visits"] == 9


def test_an_index_of_some_rows_serves_them(bench: Bench) -> None:
    steps = "  - find: { table: users, where: email == input.data }\n    as: all\n"
    assert ask(bench, steps + "  - return: ${ vars.all }\n", "a").json == []
    text = "SELECT id FROM users WHERE (deleted_at IS NULL) AND email = 'a'"
    if bench.database == "sqlite":
        assert "one_email" in str(bench.sql(f"EXPLAIN QUERY PLAN {text}"))
