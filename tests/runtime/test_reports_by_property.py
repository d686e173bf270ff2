"""Sums, averages and quotients of any decimals, on each database and in plain Python."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal, localcontext

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import NOTES
from tests.support.postgres import SLOW_DATABASES, place_of
from tests.support.reports import average, same
from tests.support.workbench import Bench

FILES = {
    "tables/notes.yaml": NOTES,
    "tables/prices.yaml": """
columns:
  id: { type: integer, primaryKey: true }
  kind: { type: integer }
  price: { type: decimal, nullable: true }
  qty: { type: integer }
""",
}
_NEAR = ("0", "0.0", "-0.5", "1.10", "1.1", "0.0000005", "-0.0000015")
DECIMALS = st.sampled_from(list(map(Decimal, _NEAR))) | st.decimals(
    min_value=-(10**25), max_value=10**25, allow_nan=False, places=6
)
ROWS = st.lists(
    st.tuples(st.integers(0, 2), st.none() | DECIMALS, st.integers(-(2**31), 2**31)), max_size=8
)
FIND = """
steps:
  - find:
      table: prices
      aggregate:
        groupBy: [kind]
        values:
          sum: sum(price)
          some: sum(price, qty > 0)
          mean: avg(price)
          least: min(price)
          most: max(price)
          different: countDistinct(price)
          times: sum(price * qty, price != null)
    as: groups
  - find:
      table: prices
      where: price != null and qty != 0
      select: { id: id, share: "price | divide(qty, 4)", less: price - qty }
      orderBy: [less, id]
    as: rows
  - return: { value: { groups: "${ vars.groups }", rows: "${ vars.rows }" } }
"""


@pytest.fixture(scope="module", params=SLOW_DATABASES)
def bench(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Bench]:
    with (
        place_of(request, tmp_path_factory.mktemp("decimals")) as place,
        Bench(place, FILES) as found,
    ):
        yield found


@settings(max_examples=60, deadline=None)
@given(rows=ROWS)
def test_decimals_are_those_of_plain_python(
    bench: Bench, rows: list[tuple[int, Decimal | None, int]]
) -> None:
    bench.sql("DELETE FROM prices")
    for at, (kind, price, count) in enumerate(rows):
        stored = None if price is None else format(price, "f")
        text = "INSERT INTO prices (id, kind, price, qty) VALUES (?, ?, ?, ?)"
        bench.sql(text, at, kind, stored, count)
    with localcontext() as context:
        context.prec = 200
        wanted = _wanted(rows)
        found = bench.run(FIND)
        assert same(found, wanted), (found, wanted)


def _wanted(rows: list[tuple[int, Decimal | None, int]]) -> dict[str, object]:
    groups = []
    for kind in sorted({row[0] for row in rows}):
        pairs = [(p, c) for k, p, c in rows if k == kind and p is not None]
        prices = [p for p, _ in pairs]
        groups.append({
            "kind": kind, "sum": sum(prices, Decimal(0)),
            "some": sum((p for p, c in pairs if c > 0), Decimal(0)), "mean": average(prices),
            "least": min(prices, default=None), "most": max(prices, default=None),
            "different": len(set(prices)), "times": sum((p * c for p, c in pairs), Decimal(0)),
        })  # fmt: skip
    each = [
        {
            "id": at,
            "share": (p / Decimal(c)).quantize(Decimal("0.0001"), ROUND_HALF_UP),
            "less": p - c,
        }
        for at, (_, p, c) in enumerate(rows)
        if p is not None and c != 0
    ]
    return {"groups": groups, "rows": sorted(each, key=lambda row: (row["less"], row["id"]))}
