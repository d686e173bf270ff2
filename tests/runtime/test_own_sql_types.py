"""sql: typed parameters and columns, and a statement for each database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bbops.compiler.check import validate
from bbops.compiler.testing.client import Reply
from bbops.source.tree import MemoryTree
from tests.conftest import with_function
from tests.support.postgres import DATABASES, place_of
from tests.support.workbench import Bench

ORDERS = """
columns:
  id: { type: uuid, primaryKey: true }
  made_at: { type: datetime }
  paid: { type: boolean }
  total: { type: decimal }
  size: { type: integer, nullable: true }
"""
ID = "00000000-0000-4000-8000-000000000001"
GIVEN = """
input: { since?: datetime, day?: date, id?: uuid, paid?: boolean, total?: string, size?: integer,
         any?: json }
"""


@pytest.fixture(scope="module", params=DATABASES)
def bench(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Bench]:
    files = {"tables/orders.yaml": ORDERS}
    if request.param == "postgres":
        project = with_function("steps: []\n")["project.yaml"]
        files["project.yaml"] = f"{project}database: {{ engine: postgres }}\n"
    with (
        place_of(request, tmp_path_factory.mktemp("types")) as place, Bench(place, files) as found,
    ):  # fmt: skip
        yes = 1 if found.database == "sqlite" else "true"
        found.sql(
            "INSERT INTO orders (id, made_at, paid, total, size) VALUES"
            f" ('{ID}', '2026-01-02T03:04:05.000000Z', {yes}, '10.10', NULL)"
        )
        yield found


def step(statement: str, more: str = "") -> str:
    own = f"  - sql:\n      statement: {statement}\n{more}    as: found\n"
    return f"{GIVEN}steps:\n{own}  - return: ${{ vars.found }}\n"


def mistakes(statement: str, more: str = "") -> list[str]:
    files = with_function(step(statement, more)) | {"tables/orders.yaml": ORDERS}
    return [str(one) for one in validate(MemoryTree(files))[1] if one.severity == "error"]


def ask(bench: Bench, statement: str, more: str, body: Any = None) -> Reply:
    return bench.ask(bench.client(step(statement, more)), body or {})


FILTERS = {
    "since": ("made_at >= :since", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"),
    "day": ("made_at >= :day", "2026-01-01", "2027-01-01"),
    "id": ("id = :id", ID, ID.replace("1", "2")),
    "paid": ("paid = :paid", True, False),
    "size": ("coalesce(size, 3) = :size", 3, 4),
    "total": ("total = :total", "10.10", "9"),
}


@pytest.mark.parametrize("name", FILTERS)
def test_a_parameter_that_may_be_null_has_its_type(bench: Bench, name: str) -> None:
    condition, some, none = FILTERS[name]
    if name == "total" and bench.database == "postgres":
        condition = "total = CAST(:total AS numeric)"
    statement = f"SELECT count(*) AS n FROM orders WHERE (:{name} IS NULL OR {condition})"
    value = "${ input.%s }" % name  # noqa: UP031 - braces in braces
    more = f'      params: {{ {name}: "{value}" }}\n      one: required\n'
    found = [ask(bench, statement, more, {name: one} if one is not None else {})
             for one in (None, some, none)]  # fmt: skip
    assert [one.json for one in found] == [{"n": 1}, {"n": 1}, {"n": 0}]


TYPED = """      one: required
      columns:
        id: uuid
        made_at: datetime
        day: date
        paid: boolean
        total: decimal
        size: integer?
        n: integer
        mean: number
        note: json
"""
DAYS = {"sqlite": "substr(made_at, 1, 10)", "postgres": "made_at::date"}
NOTES = {"sqlite": "json('{\"a\": [1]}')", "postgres": "'{\"a\": [1]}'::jsonb"}


def test_columns_come_out_by_their_types_on_both(bench: Bench) -> None:
    day, note = DAYS[bench.database], NOTES[bench.database]
    statement = (
        f"|-\n        SELECT id, made_at, {day} AS day, paid, total, size,"
        f" count(*) OVER () AS n, 1.5 AS mean, {note} AS note FROM orders"
    )
    reply = ask(bench, statement, TYPED)
    assert reply.json == {
        "id": ID, "made_at": "2026-01-02T03:04:05Z", "day": "2026-01-02", "paid": True,
        "total": "10.10", "size": None, "n": 1, "mean": 1.5, "note": {"a": [1]},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("selected", "of"),
    [("size", "integer"), ("id", "integer"), ("id", "boolean"), ("id", "datetime"), ("id", "date"),
     ("id", "decimal"), ("id", "json"), ("1", "string"), ("1.5", "integer"), ("1", "uuid")],
)  # fmt: skip
def test_a_value_of_another_type_fails_and_says_so(bench: Bench, selected: str, of: str) -> None:
    reply = ask(bench, f"SELECT {selected} AS a FROM orders", f"      columns: {{ a: {of} }}\n")
    assert reply.status == 500
    assert "column 'a' of the statement is" in str(bench.host.log.lines[-1])  # type: ignore[attr-defined]


def test_each_database_has_its_own_statement(bench: Bench) -> None:
    statement = '{ sqlite: "SELECT typeof(1) AS a", postgres: "SELECT 1::text AS a" }'
    found = ask(bench, statement, "").json
    assert found == [{"a": "integer" if bench.database == "sqlite" else "1"}]


def test_a_change_gives_columns_with_types(bench: Bench) -> None:
    statement = "UPDATE orders SET size = size WHERE id = :id RETURNING paid"
    more = '      params: { id: "${ input.id }" }\n      mode: write\n'
    more += "      columns: { paid: boolean }\n"
    assert ask(bench, statement, more, {"id": ID}).json == [{"paid": True}]


@pytest.mark.parametrize(
    ("statement", "more", "message"),
    [
        ("SELECT :x AS a", '      params: { x: "${ input.any }" }\n', "may be of any type"),
        ("SELECT id FROM orders", "      columns: { di: uuid }\n", "gives no column 'di'"),
        ("SELECT id, paid FROM orders", "      columns: { id: uuid }\n", "gives column 'paid'"),
        ("SELECT id FROM orders", "      columns: { id: uid }\n", "unknown type 'uid'"),
        ("DELETE FROM orders", "      mode: write\n      columns: { id: uuid }\n", "gives no rows"),
        ("{ sqlite: SELECT 1 }", "", "'postgres' is missing"),
        ('{ sqlite: SELECT 1, postgres: "SELECT :b" }', "", "no value for ':b'"),
        ('{ sqlite: SELECT 1, postgres: "DELETE FROM orders" }', "", "must begin with one of"),
        ("SELECT ${ input.id }", "", "takes no expressions"),
    ],
)
def test_mistakes_stand_where_they_are_written(statement: str, more: str, message: str) -> None:
    found = mistakes(statement, more)
    assert message in "\n".join(found), found


def test_typed_columns_are_known_to_expressions() -> None:
    text = step(
        "SELECT total FROM orders", "      columns: { total: decimal }\n      one: required\n"
    )
    wrong = text.replace("${ vars.found }", "${ vars.found.totl }")
    files = with_function(wrong) | {"tables/orders.yaml": ORDERS}
    assert "[unknown-field]" in str([str(one) for one in validate(MemoryTree(files))[1]])


def test_one_text_is_tried_on_sqlite(tmp_path: Path) -> None:
    assert "SQLite says" in mistakes("SELECT 1::text AS a")[0]
    assert mistakes('{ sqlite: SELECT 1 AS a, postgres: "SELECT 1::int AS a" }') == []
