"""Computed columns are read like others, and written by nobody, on both databases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from bbops.base.errors import ProjectError
from bbops.compiler.testing.client import Reply
from bbops.database.migrate import migrate
from tests.support.postgres import DATABASES, place_of
from tests.support.workbench import Bench

ORDERS = """columns:
  id: { type: integer, primaryKey: true, auto: increment }
  name: { type: string, default: x }
  quantity: { type: integer }
  price: { type: decimal, default: "1.50" }
  weight: { type: number, nullable: true }
  made_at: { type: datetime, default: "2026-01-31T23:30:00Z" }
  gone: { type: boolean, default: false }
  total: { computed: quantity * price, description: What it costs. }
  label: { computed: "name + ': ' + (name | upper)" }
  size: { computed: "'large' if quantity > 9 else 'small'" }
  each: { computed: (weight | default(0)) / (quantity - 2) }
  late: { computed: "made_at | add('1d')" }
  open: { computed: "not gone and quantity in [1, 2, 3]" }
"""
PEOPLE = """columns:
  id: { type: integer, primaryKey: true, auto: increment }
  secret: { type: string, private: true }
  hidden: { computed: secret + '!' }
"""
LINES = """columns:
  id: { type: integer, primaryKey: true, auto: increment }
  order_id: { type: integer, references: orders.id, onDelete: cascade }
  n: { type: integer }
  double: { computed: n * 2 }
"""


@pytest.fixture(scope="module", params=DATABASES)
def bench(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Bench]:
    files = {
        "tables/orders.yaml": ORDERS, "tables/lines.yaml": LINES, "tables/people.yaml": PEOPLE,
    }  # fmt: skip
    with (
        place_of(request, tmp_path_factory.mktemp("computed")) as place,
        Bench(place, files) as found,
    ):
        yield found


@pytest.fixture(autouse=True)
def rows(bench: Bench) -> None:
    bench.sql("DELETE FROM lines")
    bench.sql("DELETE FROM orders")
    for row in ((101, "a", 2, 3.0), (102, "b", 10, None), (103, "c", 3, 1.5)):
        bench.sql("INSERT INTO orders (id, name, quantity, weight) VALUES (?, ?, ?, ?)", *row)
        bench.sql("INSERT INTO lines (order_id, n) VALUES (?, ?), (?, ?)", row[0], 1, row[0], 4)


def ask(bench: Bench, steps: str, body: Any = None) -> Reply:
    return bench.ask(bench.client(f"input: {{ data: json }}\nsteps:\n{steps}"), {"data": body or 0})


def found(bench: Bench, find: str, body: Any = None) -> Any:
    steps = f"  - find: {find}\n    as: found\n  - return: ${{ vars.found }}\n"
    reply = ask(bench, steps, body)
    assert reply.status == 200, reply.json
    return reply.json


def test_they_are_read_like_others(bench: Bench) -> None:
    select = "[id, total, label, size, each, late, open]"
    assert found(bench, f"{{ table: orders, select: {select} }}") == [
        {"id": 101, "total": "3.00", "label": "a: A", "size": "small", "each": None,
         "late": "2026-02-01T23:30:00Z", "open": True},
        {"id": 102, "total": "15.00", "label": "b: B", "size": "large", "each": 0.0,
         "late": "2026-02-01T23:30:00Z", "open": False},
        {"id": 103, "total": "4.50", "label": "c: C", "size": "small", "each": 1.5,
         "late": "2026-02-01T23:30:00Z", "open": True},
    ]  # fmt: skip


QUERIES: list[tuple[str, Any]] = [
    ("{ table: orders, where: total > 4, orderBy: total.desc, select: [id] }",
     [{"id": 102}, {"id": 103}]),
    ("{ table: orders, where: size == 'large' and not open, select: [id] }", [{"id": 102}]),
    ("{ table: orders, orderBy: [size, label.desc], select: [id] }",
     [{"id": 102}, {"id": 103}, {"id": 101}]),
    (("{ table: orders, aggregate: { groupBy: [size], values: { sum: sum(total), n: count() } },"
     " orderBy: size }"),
     [{"size": "large", "sum": "15.00", "n": 1}, {"size": "small", "sum": "7.50", "n": 2}]),
    ("{ table: orders, select: [size], distinct: true, orderBy: size }",
     [{"size": "large"}, {"size": "small"}]),
    (("{ table: orders, where: id == 101, one: true, select: { twice: total * 2, lines: [double],"
     " sum: 'sum(lines, double)' } }"),
     {"twice": "6.00", "lines": [{"double": 2}, {"double": 8}], "sum": 10}),
    (("{ table: lines, where: order.total > 10 and double > 2, select: { id: order.id,"
     " total: order.total, size: order.size } }"),
     [{"id": 102, "total": "15.00", "size": "large"}]),
    (("{ table: lines, aggregate: { groupBy: { size: order.size }, values: { n: sum(double) } },"
     " orderBy: size }"),
     [{"size": "large", "n": 10}, {"size": "small", "n": 20}]),
    ("{ table: orders, select: { id: id, place: rank(total.desc) }, orderBy: place }",
     [{"id": 102, "place": 1}, {"id": 103, "place": 2}, {"id": 101, "place": 3}]),
    (("{ union: [{ table: orders, where: open, select: { n: quantity, s: size } },"
     " { table: lines, where: double > 7, select: { n: double, s: order.size } }],"
     " orderBy: [n, s] }"),
     [{"n": 2, "s": "small"}, {"n": 3, "s": "small"}, {"n": 8, "s": "large"},
      {"n": 8, "s": "small"}, {"n": 8, "s": "small"}]),
]  # fmt: skip


@pytest.mark.parametrize(("find", "expected"), QUERIES, ids=[find[:60] for find, _ in QUERIES])
def test_queries_know_them(bench: Bench, find: str, expected: Any) -> None:
    assert found(bench, find) == expected


def test_pages_are_ordered_by_them(bench: Bench) -> None:
    page = (
        "  - find: { table: orders, orderBy: total.desc, limit: 2, after: null, select: [id] }\n"
        "    as: page\n"
        "  - find: { table: orders, orderBy: total.desc, limit: 2, select: [id],"
        ' after: "${ vars.page.next }" }\n'
        "    as: page\n  - return: ${ vars.page.rows }\n"
    )
    assert ask(bench, page).json == [{"id": 101}]


WRITES = [
    ("insert: { table: orders, data: { quantity: 4 } }", {"total": "6.00"}),
    ("insert: { table: orders, data: '${ input.data }' }", {"total": "7.50", "size": "small"}),
    ("update: { table: orders, where: total == 15, data: { quantity: 20 }, one: true }",
     {"id": 102, "total": "30.00"}),
    (("update: { table: orders, where: id == 101, one: true,"
     " data: { price: '${ row.total + row.quantity }' } }"), {"price": "5.00", "total": "10.00"}),
    ("delete: { table: orders, where: size == 'large', one: true }", {"id": 102, "total": "15.00"}),
    (("update: { table: orders, where: 'exists(lines, double == 8 and row.open)',"
     " data: { gone: true } }"), {"count": 2}),
]  # fmt: skip


@pytest.mark.parametrize(("step", "expected"), WRITES, ids=[step[:50] for step, _ in WRITES])
def test_writes_give_them(bench: Bench, step: str, expected: dict[str, Any]) -> None:
    steps = f"  - {step}\n    as: row\n  - return: ${{ vars.row }}\n"
    reply = ask(bench, steps, {"quantity": 5})
    assert reply.status == 200, reply.json
    assert {name: reply.json[name] for name in expected} == expected


def test_they_are_not_in_the_database(bench: Bench) -> None:
    assert migrate.plan(bench.place, bench.tables).is_empty
    assert "total" not in migrate.describe(bench.tables)


@pytest.mark.parametrize(
    ("steps", "code"),
    [
        ("  - insert: { table: orders, data: { quantity: 1, total: '3' } }\n", "computed"),
        ("  - update: { table: orders, where: true, data: { size: a } }\n", "computed"),
        (
            (
                "  - find: { table: people, where: id == 1, one: required, select: [hidden] }\n"
                "    as: found\n  - return: ${ vars.found }\n"
            ),
            "private-data",
        ),
    ],
)
def test_what_may_not_be_done_with_them_is_refused(bench: Bench, steps: str, code: str) -> None:
    with pytest.raises(ProjectError) as caught:
        ask(bench, steps)
    assert {one.code for one in caught.value.diagnostics if one.severity == "error"} == {code}


def test_what_a_request_brings_of_them_is_not_written(bench: Bench) -> None:
    for step in ("insert: { table: orders,", "update: { table: orders, where: id == 101,"):
        reply = ask(bench, f"  - {step} data: '${{ input.data }}' }}\n", {"size": "small"})
        assert reply.status >= 400
    assert bench.sql("SELECT count(*) FROM orders") == [(3,)]


RULED = ORDERS + "access: { read: total < 10, write: total < 10 }\nscope: size == 'small'\n"


def test_rules_read_them(bench: Bench) -> None:
    files = bench.files
    bench.files = {**files, "tables/orders.yaml": RULED}
    try:
        assert [one["id"] for one in found(bench, "{ table: orders, orderBy: total }")] == [
            101,
            103,
        ]
        steps = "  - update: { table: orders, where: id == 101, data: { quantity: 9 } }\n"
        assert ask(bench, steps).status == 403
        steps = "  - insert: { table: orders, data: { quantity: 9 } }\n"
        assert ask(bench, steps).status == 403
        steps = "  - insert: { table: orders, data: { quantity: 6 } }\n    as: row\n"
        assert ask(bench, steps + "  - return: ${ vars.row }\n").json["total"] == "9.00"
        steps = "  - delete: { table: orders, where: true }\n    as: n\n  - return: ${ vars.n }\n"
        assert ask(bench, steps).json == {"count": 3}
    finally:
        bench.files = files
    assert bench.sql("SELECT id FROM orders") == [(102,)]
