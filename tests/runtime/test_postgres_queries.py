"""What compiled queries are on PostgreSQL alone: indexes, numbers, what it cannot keep."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from bbops.database.postgres.text import translate
from bbops.database.schema.place import PostgresPlace
from tests.conftest import with_function
from tests.support.items import FILES, find, stored
from tests.support.workbench import Bench

KEYED = """
columns:
  id: { type: uuid, primaryKey: true, auto: uuid }
  at: { type: time, nullable: true }
  day: { type: date, nullable: true }
  data: { type: json, nullable: true }
  other: { type: uuid, nullable: true }
"""


@pytest.fixture
def bench(schema: PostgresPlace) -> Iterator[Bench]:
    project = with_function("steps: []\n")["project.yaml"] + "database: { engine: postgres }\n"
    files = FILES | {"tables/keyed.yaml": KEYED, "project.yaml": project}
    with Bench(schema, files) as found:
        yield found


@pytest.mark.parametrize(
    ("where", "plan"),
    [
        ("id == input.x", "Index Cond: (id = $1)"),
        ("id == input.any", "Index Cond: (id = $1)"),
        ("id == input.n", "Index Cond: (id = $1)"),
        ("name == input.y", "Index Cond: (name = $1)"),
        ("name in ['a', 'b']; orderBy: name", "Index Cond: (name = ANY (ARRAY[$1, $2]))"),
        ("name in input.list; orderBy: name", "Index Cond: (name = ANY ($1))"),
        ("id == input.x and (input.y == null or size == 3)", "Index Cond: (id = $1)"),
        ("id > input.x and not done", "Index Cond: (id > $1)"),
        ("name > input.y; orderBy: name.desc", "Index Scan Backward using uq_items_name"),
        ("done; orderBy: name.desc, after: null", "Index Scan Backward using uq_items_name"),
    ],
)
def test_a_search_uses_the_index_of_its_column(
    where: str, plan: str, bench: Bench, schema_url: str
) -> None:
    head = "input: { x: integer, n: number, y: string, list: 'string[]', any: json }\n"
    condition, _, more = where.partition("; ")
    function = find(f'where: "{condition}", {more}', head)
    if "after" in more:
        function = function.replace("vars.x | ", "vars.x.rows | ")
    with psycopg.connect(schema_url, prepare_threshold=None) as connection:
        connection.execute("SET enable_seqscan = off; SET enable_bitmapscan = off")
        for text in bench.client(function).release.statements():
            sql = translate(text, '"C"').sql
            rows = connection.execute(f"EXPLAIN (GENERIC_PLAN) {sql}".encode()).fetchall()
            assert any(plan in row[0] for row in rows), rows


def test_a_uuid_is_compared_as_the_text_that_it_is(bench: Bench) -> None:
    add = "steps:\n  - insert: { table: keyed, data: { id: KEY, at: '08:30' } }\n    as: x\n"
    function = """
input: { ids: 'string[]', id: string }
steps:
  - find:
      table: keyed
      where: (id in input.ids) == WANTED and (id | upper | length) == 36
    as: found
  - return: { value: "${ vars.found | length }" }
"""
    add = add.replace("KEY", "0a0a0a0a-0000-4000-8000-00000000000b")
    row = bench.run(add + "  - return: { value: '${ vars.x }' }\n")
    assert row["at"] == "08:30:00"
    other = "0a0a0a0a-0000-4000-8000-00000000000c"
    for ids, wanted in [([row["id"]], 1), ([row["id"].upper(), other], 1), ([other], 0), ([], 0)]:
        told = {"ids": ids, "id": other}
        assert bench.run(function.replace("WANTED", "true"), told) == wanted
        assert bench.run(function.replace("WANTED", "false"), told) == 1 - wanted
    same = function.replace("(id in input.ids) == WANTED", "id OP input.id")
    assert bench.run(same.replace("OP", "=="), told) == 0
    assert bench.run(same.replace("OP", "!="), told) == 1


@pytest.mark.parametrize(
    "where",
    [
        "id in [input.id, other]",
        "input.id in [id, other]",
        "id in ['0A0A0A0A-0000-4000-8000-00000000000C', input.id]",
        "id == input.id",
        "id == id and other != id",
        "id < 'ffffffff-0000-4000-8000-00000000000b' and (id | slice(0, 2)) == '0a'",
        "at != null and at == '08:30:00' and at in ['08:30:00'] and at > '08:29'",
        "at != null and at == '08:30' and (at | length) == 8",
        "day in [input.day, null]",
        "id in input.ids and other not in input.ids",
        "other != null and id > other",
    ],
)
def test_texts_that_are_stored_as_something_else_are_compared(where: str, bench: Bench) -> None:
    first, other = "0a0a0a0a-0000-4000-8000-00000000000b", "00000000-0000-4000-8000-00000000000b"
    data = f"id: {first}, other: {other}, at: '08:30', day: '2026-01-01'"
    text = f"""
input: {{ id: string, ids: 'string[]', day: date }}
steps:
  - insert: {{ table: keyed, data: {{ {data} }} }}
  - find: {{ table: keyed, where: "{where}", select: [id] }}
    as: x
  - return: {{ value: "${{ vars.x | length }}" }}
"""
    assert bench.run(text, {"id": first, "ids": [first], "day": "2026-01-01"}) == 1


@pytest.mark.parametrize(
    ("where", "count"),
    [
        ("data != null and data == 5", 1),
        ("data != null and data == input.data", 1),
        ("data != null and data == 'a'", 0),
        ("data == null", 0),
        ("data != null and data != 5", 1),
    ],
)
def test_a_json_column_is_compared_by_its_text(
    where: str, count: int, bench: Bench, tmp_path: Path
) -> None:
    head = "input: { data: json }\nsteps:\n"
    add = head + "  - insert: { table: keyed, data: { data: '${ input.data }' } }\n"
    count_text = (
        f'{head}  - find: {{ table: keyed, where: "{where}" }}\n    as: x\n'
        "  - return: { value: '${ vars.x | length }' }\n"
    )
    with Bench(tmp_path, {"tables/keyed.yaml": KEYED}) as other:
        for each in (bench, other):
            for value in (5, "a"):
                each.run(add, {"data": value})
            assert each.run(count_text, {"data": 5}) == count


def test_a_number_that_a_row_brings_is_not_given_again(bench: Bench) -> None:
    def add(data: str) -> Any:
        text = stored(f"insert: {{ table: items, data: {data} }}", "input: { data: json }\n")
        given = {"data": {"id": 20, "name": "h"}}
        return bench.run(text.replace("${ vars.x }", "${ vars.x.id }"), given)

    assert [add("{ name: a }"), add("{ id: 10, name: b }"), add("{ name: c }")] == [6, 10, 11]
    assert [add("{ id: 8, name: d }"), add("{ name: e }")] == [8, 12]
    assert [add('"${ input.data }"'), add("{ name: f }")] == [20, 21]


def test_a_text_with_a_nul_is_refused(bench: Bench) -> None:
    function = stored(
        "insert: { table: items, data: '${ input.data }' }", "input: { data: json }\n"
    )
    reply = bench.ask(bench.client(function), {"data": {"name": "a\0b"}})
    assert (reply.status, reply.json["error"]["code"]) == (400, "invalidInput")


def test_a_fraction_is_no_whole_number(bench: Bench) -> None:
    half = "update: { table: items, where: id == 1, data: { size: '${ row.id / 2 }' } }"
    assert bench.ask(bench.client(stored(half))).status == 400
    assert bench.run(stored(half.replace("id / 2", "id / 1"))) == {"count": 1}


def test_a_transaction_begins_again_with_what_its_variables_were(bench: Bench) -> None:
    function = """
steps:
  - set: { n: 0 }
  - transaction:
      - find: { table: items, where: id == 1 and size != null, one: required }
        as: item
      - set: { n: "${ vars.n + 1 }" }
      - update:
          table: items
          where: id == 1
          data: { size: "${ (vars.item.size | default(0)) + vars.n }" }
  - return: { value: "${ vars.n }" }
"""
    client = bench.client(function)

    async def crowd() -> list[Any]:
        replies = await asyncio.gather(*(client.ask("POST", "/run") for _ in range(20)))
        return [reply.json for reply in replies]

    assert bench.loop.run_until_complete(crowd()) == [1] * 20
    assert bench.sql("SELECT size FROM items WHERE id = 1") == [(23,)]


def test_own_sql_gives_what_sqlite_does(bench: Bench) -> None:
    function = """
steps:
  - sql:
      statement: |-
        SELECT done, price, created_at, sum(size)::bigint AS n, avg(id) AS mean, ARRAY[1, 2] AS both
        FROM items WHERE id = ANY(:ids) AND created_at <= :now AND price > :least
          AND done = :done GROUP BY done, price, created_at
      params: { ids: [1, 3], now: "2100-01-01T00:00:00Z", least: 1, done: false }
      one: true
    as: row
  - sql: { statement: "SELECT sum(size) AS n, avg(size) AS mean FROM items", one: true }
    as: whole
  - return:
      value: ["${ vars.row }", "${ vars.whole }"]
"""
    row, whole = bench.run(function)
    assert len(row.pop("created_at")) == len("2026-01-01T00:00:00.000000Z")
    assert row == {
        "done": 0, "price": "1.50", "n": 3,
        "mean": "1.00000000000000000000", "both": [1, 2],
    }  # fmt: skip
    assert whole == {"n": 7, "mean": 7 / 3}
