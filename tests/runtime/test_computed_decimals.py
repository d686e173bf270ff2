"""Decimals are computed without loss, on each database and in plain Python."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Any

import pytest

from bbops.compiler.check import validate
from bbops.source.tree import MemoryTree
from tests.conftest import with_function
from tests.support.reports import (
    FILES,
    ITEMS,
    TEAMS,
    bench,
    find,
    last,
    of_team,
    same,
)
from tests.support.workbench import Bench

__all__ = ["bench"]


def divided(value: Decimal, by: Decimal | int, places: int) -> Decimal:
    with localcontext() as context:
        context.prec = 100
        return (value / Decimal(by)).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)


DECIMALS: list[tuple[str, Callable[[dict[str, Any]], Any]]] = [
    ("price + 1", lambda r: r["price"] + 1),
    ("price + price", lambda r: r["price"] + r["price"]),
    ("price * points", lambda r: r["price"] * r["points"]),
    ("(price + 1) * (price - id)", lambda r: (r["price"] + 1) * (r["price"] - r["id"])),
    ("-price", lambda r: -r["price"]),
    ("3 * price > 60", lambda r: 3 * r["price"] > 60),
    ("price * 2 == price + price", lambda _: True),
    ("price - 0 in [price, 1]", lambda _: True),
    ("price if points > input.least else price * 2",
        lambda r: r["price"] * (1 if r["points"] > 2 else 2)),
    ("price | divide(3, 2)", lambda r: divided(r["price"], 3, 2)),
    ("price | divide(id, 6)", lambda r: divided(r["price"], r["id"], 6)),
    ("id | divide(7, 0)", lambda r: divided(Decimal(r["id"]), 7, 0)),
    ("price | divide(-8, 1)", lambda r: divided(r["price"], -8, 1)),
    ("price | divide(points, 2)",
        lambda r: divided(r["price"], r["points"], 2) if r["points"] else None),
    ("input.least * price", lambda r: 2 * r["price"]),
]  # fmt: skip


@pytest.mark.parametrize(("value", "wanted"), DECIMALS, ids=[one[0] for one in DECIMALS])
def test_decimals_are_computed_without_loss(
    bench: Bench, value: str, wanted: Callable[[Any], Any]
) -> None:
    where = "where: price != null and points != null"
    text = f'table: items\n{where}\nselect: {{ id: id, x: "{value}" }}\norderBy: [x, id]'
    rows = [r for r in ITEMS if r["price"] is not None and r["points"] is not None]
    expected = [{"id": r["id"], "x": wanted(r)} for r in rows]
    if not isinstance(expected[0]["x"], bool):
        expected.sort(key=lambda row: (last(row["x"]), row["id"]))
        found = find(bench, text)
    else:
        found = find(bench, text.replace("[x, id]", "id"))
    assert same(found, expected), (found, expected)


def test_sums_of_computed_decimals_lose_nothing(bench: Bench) -> None:
    text = (
        "table: teams\nselect:\n  id: id\n  worth: sum(items, price * points, price != null and"
        " points != null)\norderBy: worth.desc"
    )
    rows = [
        {
            "id": t["id"],
            "worth": sum(
                (
                    r["price"] * r["points"]
                    for r in of_team(t)
                    if r["price"] is not None and r["points"] is not None
                ),
                Decimal(0),
            ),
        }
        for t in TEAMS
    ]
    found, expected = find(bench, text), sorted(rows, key=lambda r: (-r["worth"], -r["id"]))
    assert same(found, expected), (found, expected)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("hidden / 2", "[decimal-division]"),
        ("hidden % 2", "is not exact in SQL"),
        ("hidden * weight", "'*' on decimal and number is not exact"),
        ("hidden | divide(2, points)", "the places of 'divide' are a constant"),
        ("hidden | divide(0, 2)", "division by zero"),
        ("hidden | divide(3, 40)", "takes 0 to 18 places"),
        ("hidden | divide(weight, 2)", "'divide' on numbers is not exact"),
        ("hidden | divide(3, 2)", "private-data"),
        ("hidden + 1", "private-data"),
    ],
)
def test_what_would_lose_digits_is_refused(value: str, message: str) -> None:
    function = (
        "steps:\n  - find:\n      table: items\n      where: points != null\n"
        f'      select: {{ a: "{value}" }}\n    as: found\n'
        '  - return: { value: "${ vars.found }" }\n'
    )
    found = validate(MemoryTree(with_function(function) | FILES))[1]
    assert message in "\n".join(map(str, found)), found
