"""Places of rows, and rows of several tables, on each database and in plain Python."""

from __future__ import annotations

from collections.abc import Callable
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
    down,
    find,
    last,
    lead,
    of_team,
    same,
    team,
)
from tests.support.workbench import Bench

__all__ = ["bench"]

Case = tuple[str, str, Callable[[], Any]]


def place(row: dict[str, Any], rows: list[dict[str, Any]], key: Callable[[Any], Any]) -> int:
    return 1 + sum(key(one) < key(row) for one in rows)


WINDOWED: list[Case] = [
    ("a rank with ties and nulls, apart",
        'select: { id: id, x: "rank(points.desc, team_id)" }\norderBy: id',
        lambda: [{"id": r["id"], "x": place(
            r, [o for o in ITEMS if o["team_id"] == r["team_id"]], lambda o: down(o["points"]))}
            for r in ITEMS]),
    ("a rank by decimals", "select: { id: id, x: rank(price) }\norderBy: id",
        lambda: [{"id": r["id"], "x": place(r, ITEMS, lambda o: last(o["price"]))} for r in ITEMS]),
    ("a rank by related rows, above",
        ("table: teams\nselect: { name: name, x: \"rank(count(items, status == 'open').desc)\" }\n"
        "orderBy: [x, name]"),
        lambda: sorted(({"name": t["name"], "x": place(t, TEAMS, lambda o: -sum(
            r["status"] == "open" for r in of_team(o)))} for t in TEAMS),
            key=lambda r: (r["x"], r["name"]))),
    ("numbers of rows, in an order",
        ("where: points != null and points > input.least\n"
        "select: { id: id, x: rowNumber(made) }\norderBy: x.desc\nlimit: 5"),
        lambda: [{"id": r["id"], "x": n} for n, r in sorted(enumerate(sorted(
            (r for r in ITEMS if (r["points"] or 0) > 2), key=lambda r: (r["made"], r["id"])), 1),
            reverse=True, key=lambda p: p[0])][:5]),
    ("whether it is among the first",
        'select: { id: id, x: "rowNumber(weight.desc, team.name) <= 2" }\norderBy: id',
        lambda: [{"id": r["id"], "x": place(
            r, [o for o in ITEMS if team(o)["name"] == team(r)["name"]],
            lambda o: (-o["weight"], -o["id"])) <= 2} for r in ITEMS]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "wanted"), [c[1:] for c in WINDOWED], ids=[c[0] for c in WINDOWED]
)
def test_places_of_rows_are_those_of_plain_python(
    bench: Bench, text: str, wanted: Callable[[], Any]
) -> None:
    text = text if text.startswith("table:") else f"table: items\n{text}"
    found, expected = find(bench, text), wanted()
    assert same(found, expected), (found, expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("where: rank(points) < 3", "[window]"),
        ("select: { x: rank(id) }\n      after: null", "[window]"),
        ("distinct: true\n      select: { x: rank(id) }", "[window]"),
        ("aggregate: { values: { x: max(rank(id)) } }", "[window]"),
        ("select: { x: 'count(team.items, rank(id) < 3)' }", "[window]"),
        ("select: { x: rank() }", "takes 1 to 2 arguments"),
        ("select: { x: rank(1) }", "needs a column to order by"),
        ("select: { x: rank(extra) }", "cannot compare values of kind json"),
        ("select: { x: rank(pints.desc) }", "did you mean 'points'"),
        ("select: { x: rank(secret.desc) }", "private-data"),
    ],
)
def test_mistakes_with_places_are_told(text: str, message: str) -> None:
    function = (
        f"steps:\n  - find:\n      table: items\n      {text}\n    as: found\n"
        '  - return: { value: "${ vars.found }" }\n'
    )
    found = validate(MemoryTree(with_function(function) | FILES))[1]
    assert message in "\n".join(map(str, found)), found


UNIONS: list[Case] = [
    ("two tables, in an order of their names",
        ("union:\n  - table: teams\n    select: { kind: \"'team'\", id: id, label: name }\n"
        "  - table: items\n    where: points != null and points > input.least + 6\n"
        "    select: { label: status, id: id, kind: \"'item'\" }\norderBy: [label, kind.desc]"),
        lambda: sorted(
            [{"kind": "team", "id": t["id"], "label": t["name"]} for t in TEAMS]
            + [{"kind": "item", "id": r["id"], "label": r["status"]} for r in ITEMS
               if (r["points"] or 0) > 8],
            key=lambda r: (r["label"], r["kind"] == "item", r["id"]))),
    ("relations, decimals, times and nulls",
        ("union:\n  - table: items\n    where: id < 9\n"
        "    select: { at: made, who: team.lead.name, worth: price }\n"
        "  - { table: items, where: id > 100, select: { at: ended, who: status, worth: price } }\n"
        "orderBy: [worth.desc, at]\nlimit: 7\nwithTotal: true"),
        lambda: {"rows": sorted(
            [{"at": r["made"], "who": lead(team(r))["name"], "worth": r["price"]}
             for r in ITEMS if r["id"] < 9]
            + [{"at": r["ended"], "who": r["status"], "worth": r["price"]}
               for r in ITEMS if r["id"] > 100],
            key=lambda r: (down(r["worth"]), r["at"] is None, r["at"] or ITEMS[0]["made"],
                           last(r["who"])))[:7], "total": 28}),
    ("columns by their names, the first one",
        ("union:\n  - { table: people, select: [id, name] }\n"
        "  - { table: teams, select: [name, id] }\none: true"),
        lambda: {"id": 1, "name": "Ada"}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "wanted"), [c[1:] for c in UNIONS], ids=[c[0] for c in UNIONS])
def test_unions_are_those_of_plain_python(
    bench: Bench, text: str, wanted: Callable[[], Any]
) -> None:
    found, expected = find(bench, text), wanted()
    assert same(found, expected), (found, expected)


PART = "{ table: people, select: [id, name] }"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"union: [{PART}]", "two to 10 parts"),
        (f"union: [{PART}, {{ table: teams, select: [id] }}]", "selects id, and the first id"),
        (
            f"union: [{PART}, {{ table: teams, select: {{ id: name, name: name }} }}]",
            "'id' is text here, and integer in the first part",
        ),
        (f"union: [{PART}, {{ table: team, select: [id, name] }}]", "table 'team' does not exist"),
        (f"union: [{PART}, {{ table: teams, select: [id, nme] }}]", "no column 'nme'"),
        (f"union: [{PART}, {{ table: teams }}]", "'select'"),
        (f"union: [{PART}, {PART}]\n      table: teams", "'table' does not go with 'union'"),
        (f"union: [{PART}, {PART}]\n      after: null", "'after' does not go with 'union'"),
        (f"union: [{PART}, {PART}]\n      orderBy: city", "'city' is not a name in 'select'"),
        ("union: [{ table: items, select: { a: extra } }, { table: items, select: { a: id } }]",
         "'a' is json, which 'union' lacks"),
        ("union: [{ table: items, select: [id] }, { table: items, select: { id: secret } }]",
         "private-data"),
        ("where: true", "'table'"),
    ],
)  # fmt: skip
def test_mistakes_in_unions_are_told(text: str, message: str) -> None:
    function = (
        f"steps:\n  - find:\n      {text}\n    as: found\n"
        '  - return: { value: "${ vars.found }" }\n'
    )
    found = validate(MemoryTree(with_function(function) | FILES))[1]
    assert message in "\n".join(map(str, found)), found
