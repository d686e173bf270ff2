"""insert, update and delete on a real database file: what they give, and what they change."""

from __future__ import annotations

import marshal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bbops.compiler.compile.release import build
from bbops.source.tree import MemoryTree
from tests.conftest import with_function
from tests.support.items import FAR, FILES, steps, stored
from tests.support.postgres import DATABASES, place_of
from tests.support.workbench import Bench


@pytest.fixture(params=DATABASES)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    with place_of(request, tmp_path) as place, Bench(place, FILES) as found:
        yield found


def test_insert_gives_the_row_with_everything_it_filled_in(bench: Bench) -> None:
    function = steps("""
  - insert: { table: items, data: { name: fox, price: 3.10 } }
    as: row
  - return:
      value: ${ vars.row }
""")
    assert bench.run(function) == {
        "id": 6, "name": "fox", "size": None, "price": "3.1", "done": False,
        "created_at": "2026-01-02T03:04:05Z", "updated_at": "2026-01-02T03:04:05Z",
    }  # fmt: skip


def test_insert_of_a_list_gives_the_list_and_is_all_or_nothing(bench: Bench) -> None:
    text = """
  - insert:
      table: items
      data: [ { name: fox }, { name: '${ input.second }' } ]
    as: rows
  - return:
      value: ${ vars.rows | pluck('name') }
"""
    function = steps(text, "input: { second: string }\n")
    assert bench.run(function, {"second": "gnu"}) == ["fox", "gnu"]
    assert bench.ask(bench.client(function.replace("fox", "hen")), {"second": "ant"}).status == 409
    assert bench.sql("SELECT count(*) FROM items WHERE name = 'hen'") == [(0,)]


DYNAMIC = steps("""
  - insert: { table: items, data: "${ input.data }" }
    as: x
  - return:
      value: ${ vars.x }
""", "input: { data: json }\n").replace("${ vars.x }", "${ vars.x | json | length }")  # fmt: skip


def test_insert_takes_a_map_or_a_list_from_one_expression(bench: Bench) -> None:
    for data, count in (
        ({"name": "fox"}, 6),
        ([{"name": "gnu"}, {"name": "hen", "size": 2}], 8),
        ([], 8),
    ):
        function = DYNAMIC.replace("    as: x\n", "").replace("${ vars.x | json | length }", "done")
        assert bench.run(function, {"data": data}) == "done"
        assert bench.sql("SELECT count(*) FROM items") == [(count,)]


@pytest.mark.parametrize(
    "data",
    ["text", 5, None, True, [5], [[]], {"name": 5}, {"name": "x", "nope": 1},
     {"name": "x", "size": "3"}, {'name") VALUES (1) --': 1}, {"name": "x", "done": 1},
     {"name": "x", "created_at": "soon"},
     {"name": "x", "size": 2**63}, {"name": "x", "price": "NaN"}],
)  # fmt: skip
def test_insert_of_what_is_no_row_changes_nothing(data: Any, bench: Bench) -> None:
    client = bench.client(
        DYNAMIC.replace("    as: x\n", "").replace("${ vars.x | json | length }", "done")
    )
    assert bench.ask(client, {"data": data}).status in {400, 500}
    assert bench.sql("SELECT count(*) FROM items") == [(5,)]


def conflict(do: str, data: str = "{ name: ant, size: 8 }") -> str:
    return steps(f"""
  - insert:
      table: items
      data: {data}
      onConflict: {{ columns: [name], do: {do} }}
    as: row
  - return:
      value: ${{ vars.row?.size }}
""")


def test_a_conflict_is_refused_ignored_or_updates_the_row(bench: Bench) -> None:
    plain = steps("  - insert: { table: items, data: { name: ant } }\n")
    assert bench.ask(bench.client(plain)).status == 409
    assert bench.run(conflict("ignore")) is None
    assert bench.sql("SELECT size FROM items WHERE id = 1") == [(3,)]
    assert bench.run(conflict("update")) == 8
    assert bench.run(conflict("{ size: '${ (row.size | default(0)) + 100 }' }")) == 108
    assert bench.run(conflict("update", "{ name: yak, size: 1 }")) == 1
    assert bench.sql("SELECT count(*) FROM items") == [(6,)]


def test_a_conflict_updates_only_what_was_given_and_moves_updated_on(bench: Bench) -> None:
    bench.sql("UPDATE items SET done = true WHERE id = 1 RETURNING 1")
    bench.host.clock.moment = FAR  # type: ignore[attr-defined]
    bench.run(conflict("update"))
    ((done, created, updated),) = bench.sql(
        "SELECT done, created_at, updated_at FROM items WHERE id = 1"
    )
    assert done == 1
    assert updated == "2100-01-01T00:00:00.000000Z" > created


def test_a_conflict_may_span_two_columns(bench: Bench) -> None:
    function = steps("""
  - insert:
      table: pairs
      data: { left: 1, right: a, times: 1 }
      onConflict: { columns: [right, left], do: { times: "${ row.times + 1 }" } }
    as: row
  - return:
      value: ${ vars.row.times }
""")
    assert [bench.run(function) for _ in range(3)] == [1, 2, 3]


# ---- update and delete


def change(more: str, head: str = "") -> str:
    return steps(f"""
  - update: {{ table: items, {more} }}
    as: x
  - return:
      value: ${{ vars.x }}
""", head)  # fmt: skip


def test_update_counts_what_it_changed(bench: Bench) -> None:
    assert bench.run(change("where: size == null, data: { size: 0 }")) == {"count": 2}
    assert bench.run(change("where: id == 99, data: { size: 0 }")) == {"count": 0}
    assert bench.run(change("where: true, data: { done: true }")) == {"count": 5}


def test_update_computes_in_the_database(bench: Bench) -> None:
    data = "size: '${ row.size * 2 + row.id }', name: '${ row.name }-${ row.id }'"
    bench.run(change(f"where: size != null, data: {{ {data}, done: '${{ row.id > 2 }}' }}"))
    found = bench.sql("SELECT id, size, name, done FROM items WHERE size IS NOT NULL ORDER BY id")
    assert found == [(1, 7, "ant-1", 0), (3, 5, "Cat-3", 1), (4, 10, "dog-4", 1)]


def test_update_keeps_what_was_not_sent(bench: Bench) -> None:
    head = "input: { size?: integer?, name?: string }\n"
    keep = change("where: id == 1, data: { size: '${ input.size | default(row.size) }' }", head)
    bench.run(keep, {})
    assert bench.sql("SELECT size FROM items WHERE id = 1") == [(3,)]
    bench.run(keep, {"size": 9})
    assert bench.sql("SELECT size FROM items WHERE id = 1") == [(9,)]
    sent = change("where: id == 1, data: \"${ input | pick('size', 'name') }\"", head)
    bench.run(sent, {"name": "emu"})
    assert bench.sql("SELECT size, name FROM items WHERE id = 1") == [(9, "emu")]
    bench.run(sent, {"size": None})
    assert bench.sql("SELECT size, name FROM items WHERE id = 1") == [(None, "emu")]


@pytest.mark.parametrize("data", ["{ size: 5 }", "\"${ input | pick('size') }\""])
def test_updated_moves_on_even_when_nothing_else_changes(data: str, bench: Bench) -> None:
    bench.host.clock.moment = FAR  # type: ignore[attr-defined]
    bench.run(change(f"where: id == 1, data: {data}", "input: { size?: integer }\n"), {})
    assert bench.sql("SELECT updated_at FROM items WHERE id < 3") != []
    ((one,), (two,)) = bench.sql("SELECT updated_at FROM items WHERE id < 3 ORDER BY id")
    assert one == "2100-01-01T00:00:00.000000Z" > two


def test_update_of_one_gives_the_row_and_refuses_several(bench: Bench) -> None:
    def only(where: str, one: str) -> str:
        return change(f"where: {where}, data: {{ done: true }}, one: {one}").replace(
            "${ vars.x }", "${ vars.x?.name }"
        )

    assert bench.run(only("id == 1", "true")) == "ant"
    assert bench.run(only("id == 99", "true")) is None
    assert bench.ask(bench.client(only("id == 99", "required").replace("?.", "."))).status == 404
    bench.sql("UPDATE items SET done = false RETURNING 1")
    assert bench.ask(bench.client(only("size == 3", "true"))).status == 500
    assert bench.sql("SELECT count(*) FROM items WHERE done") == [(0,)]


@pytest.mark.parametrize(
    ("where", "counts"),
    [
        ("id == 1", False), ("row.id == input.x and size == 3", False), ("'ant' == name", False),
        ("id == 1 or id == 2", True), ("not (id == 1)", True), ("id == size", True),
        ("size == 3", True), ("id > 4", True), ("name in ['ant']", True), ("true", True),
    ],
)  # fmt: skip
def test_only_what_may_match_several_rows_is_counted_before_it_commits(
    where: str, counts: bool
) -> None:
    update = f'where: "{where}", data: {{ done: true }}, one: true'
    function = change(update, "input: { x: integer }\n")
    packed = marshal.loads(build(MemoryTree(with_function(function) | FILES)).artifact)["functions"]
    (code,) = (one["code"] for one in map(marshal.loads, packed) if one["name"] == "run")
    flow = next(one for one in code.co_consts if hasattr(one, "co_consts"))
    assert (("at_most",) in flow.co_consts) == counts


def test_delete_counts_gives_one_or_refuses_several(bench: Bench) -> None:
    def gone(more: str) -> str:
        return stored(f"delete: {{ table: items, {more} }}")

    one = gone("where: id == 1, one: true").replace("${ vars.x }", "${ vars.x?.name }")
    assert bench.run(one) == "ant"
    assert bench.run(one) is None
    assert (
        bench.ask(
            bench.client(gone("where: id > 2, one: true").replace("vars.x", "vars.x?.name"))
        ).status
        == 500
    )
    assert bench.run(gone("where: id > 3")) == {"count": 2}
    assert bench.run(gone("where: true")) == {"count": 2}
