"""Rows and nested lists that reports ask for, on each database and in plain Python."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from bbops.compiler.check import validate
from bbops.source.tree import MemoryTree
from tests.conftest import with_function
from tests.support.reports import (
    FILES,
    ITEMS,
    TEAMS,
    average,
    bench,
    down,
    find,
    known,
    last,
    of_team,
    same,
    team,
)
from tests.support.workbench import Bench

__all__ = ["bench"]

Case = tuple[str, str, Callable[[], Any]]


ROWS: list[Case] = [
    ("distinct columns", "distinct: true\nselect: [status, points]\norderBy: points.desc",
        lambda: [{"status": s, "points": p} for s, p in sorted(
            {(r["status"], r["points"]) for r in ITEMS}, key=lambda p: (down(p[1]), p[0]))]),
    ("distinct values of relations",
        "distinct: true\nselect: { team: team.name, open: status == 'open' }",
        lambda: [{"team": k[0], "open": k[1]} for k in sorted(
            {(team(r)["name"], r["status"] == "open") for r in ITEMS},
            key=lambda k: (last(k[0]), k[1]))]),
    ("how many are distinct", "distinct: true\nselect: [team_id]\nlimit: 1\nwithTotal: true",
        lambda: {"rows": [{"team_id": 1}], "total": len({r["team_id"] for r in ITEMS})}),
    ("the first distinct one", "distinct: true\nselect: [points]\norderBy: points.desc\none: true",
        lambda: {"points": 9}),
    ("order by a computed number, ties by the key",
        ("table: teams\nselect: { id: id, open: \"count(items, status == 'open')\" }\n"
        "orderBy: open.desc"),
        lambda: sorted(({"id": t["id"], "open": sum(r["status"] == "open" for r in of_team(t))}
            for t in TEAMS), key=lambda r: (-r["open"], -r["id"]))),
    ("order by a computed decimal",
        'table: teams\nselect: { id: id, worth: "sum(items, price)" }\norderBy: worth',
        lambda: sorted(({"id": t["id"], "worth": sum(known(of_team(t), "price"), Decimal(0))}
            for t in TEAMS), key=lambda r: (r["worth"], r["id"]))),
    ("order by a computed text, a column and a value with nulls",
        ("table: teams\nselect: { kind: \"'x' if id > 1 else 'Y'\", id: id, mean: "
        '"avg(items, points)" }\n'
        "orderBy: [kind, mean.desc, name]"),
        lambda: sorted(({"kind": "x" if t["id"] > 1 else "Y", "id": t["id"],
            "mean": average(known(of_team(t), "points"))} for t in TEAMS),
            key=lambda r: (r["kind"], down(r["mean"])))),
    ("order by the column behind a selected name",
        "table: teams\nselect: { name: \"name + '!'\" }\norderBy: row.name.desc",
        lambda: [{"name": t["name"] + "!"} for t in sorted(
            TEAMS, key=lambda t: t["name"], reverse=True)]),
    ("averages, least and greatest of related rows",
        ("table: teams\nselect:\n  id: id\n  mean: avg(items, points)\n"
        "  fair: avg(items, price, status == 'open')\n  low: min(items, price)\n"
        "  late: max(items, made, status == 'late')\n  word: min(items, status)\n"
        "orderBy: id"),
        lambda: [{
            "id": t["id"], "mean": average(known(of_team(t), "points")),
            "fair": average(known([r for r in of_team(t) if r["status"] == "open"], "price")),
            "low": min(known(of_team(t), "price"), default=None),
            "late": max((r["made"] for r in of_team(t) if r["status"] == "late"), default=None),
            "word": min((r["status"] for r in of_team(t)), default=None),
        } for t in TEAMS]),
    ("the first and the last of related rows",
        ("table: teams\nselect:\n  id: id\n  first: first(items, status)\n"
        "  last: last(items, points, status == 'open')\n  due: last(items, due)\norderBy: id"),
        lambda: [{
            "id": t["id"], "first": next((r["status"] for r in of_team(t)), None),
            "last": next(
                (r["points"] for r in reversed(of_team(t)) if r["status"] == "open"), None),
            "due": next((r["due"].isoformat() for r in reversed(of_team(t))), None),
        } for t in TEAMS]),
    ("a condition over the last of related rows",
        ("table: teams\nwhere: last(items, status) == 'late' or max(items, points) == null\n"
        "select: [id]\norderBy: id"),
        lambda: [{"id": t["id"]} for t in TEAMS if not known(of_team(t), "points")
            or of_team(t)[-1]["status"] == "late"]),
    ("conditions over sums of decimals",
        ("table: teams\nwhere: sum(items, price) > 600 or sum(items, price) == 0\n"
        "select: [id]\norderBy: id"),
        lambda: [{"id": t["id"]} for t in TEAMS
            if (worth := sum(known(of_team(t), "price"))) > 600 or worth == 0]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "wanted"), [c[1:] for c in ROWS], ids=[c[0] for c in ROWS])
def test_rows_are_those_of_plain_python(bench: Bench, text: str, wanted: Callable[[], Any]) -> None:
    text = text if text.startswith("table:") else f"table: items\n{text}"
    found, expected = find(bench, text), wanted()
    assert same(found, expected), (found, expected)


def newest(rows: list[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda r: (down(r["points"]), -r["id"]))[:most]


NESTED: list[Case] = [
    ("some of the related rows, in an order of their own",
        ("select:\n  id: id\n  best:\n    find: { relation: items, where: status != 'done',"
        " orderBy: points.desc, limit: 3, select: [id, points, price, made] }\norderBy: id"),
        lambda: [{"id": t["id"], "best": [
            {"id": r["id"], "points": r["points"], "price": r["price"], "made": r["made"]}
            for r in newest([r for r in of_team(t) if r["status"] != "done"], 3)]} for t in TEAMS]),
    ("one of them, or null",
        ("select:\n  id: id\n  top:\n    find: { relation: items, where: points == 9 and"
        " id > input.least, orderBy: [made, price.desc], one: true,"
        " select: { number: id, team: row.name } }\norderBy: id"),
        lambda: [{"id": t["id"], "top": next(({"number": r["id"], "team": t["name"]}
            for r in sorted(of_team(t), key=lambda r: (r["made"], down(r["price"]), -r["id"]))
            if r["points"] == 9 and r["id"] > 2), None)} for t in TEAMS]),
    ("lists in lists",
        ("table: people\nselect:\n  name: name\n  teams:\n    find:\n      relation: teams\n"
        "      orderBy: name.desc\n      select:\n        name: name\n        last:\n"
        "          find: { relation: items, orderBy: id.desc, limit: 2, select: { id: id } }\n"
        "        count: count(items)\norderBy: id"),
        lambda: [{"name": p["name"], "teams": [
            {"name": t["name"], "last": [{"id": r["id"]} for r in of_team(t)[::-1][:2]],
             "count": len(of_team(t))}
            for t in sorted(TEAMS, key=lambda t: t["name"], reverse=True)
            if t["lead_id"] == p["id"]]}
            for p in [{"id": 1, "name": "Ada"}, {"id": 2, "name": "Bo"}]]),
    ("in a map, of a relation of a relation",
        ("table: items\nwhere: id < 5\nselect:\n  id: id\n  more:\n    others:\n      find:\n"
        "        relation: team.items\n        where: id < row.id\n        select: [id]\n"
        "orderBy: id"),
        lambda: [{"id": r["id"], "more": {"others": [{"id": o["id"]} for o in ITEMS
            if o["team_id"] == r["team_id"] and o["team_id"] and o["id"] < r["id"]]}}
            for r in ITEMS[:4]]),
    ("whole rows",
        "table: people\nselect:\n  led: { find: { relation: teams, limit: 1 } }\norderBy: id",
        lambda: [{"led": [t for t in TEAMS if t["lead_id"] == id_][:1]} for id_ in (1, 2)]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "wanted"), [c[1:] for c in NESTED], ids=[c[0] for c in NESTED])
def test_nested_lists_are_those_of_plain_python(
    bench: Bench, text: str, wanted: Callable[[], Any]
) -> None:
    text = text if text.startswith("table:") else f"table: teams\n{text}"
    found, expected = find(bench, text), wanted()
    assert same(found, expected), (found, expected)


NESTED_MISTAKES = [
    ("relation: itms", "did you mean 'items'"),
    ("relation: items, where: statos == 'a'", "did you mean 'status'"),
    ("relation: items, where: points > 1", "'points' may be null"),
    ("relation: items, select: [ida]", "has no column 'ida'"),
    ("relation: items, select: { a: secret }", "private-data"),
    ("relation: items", "private-data"),
    ("relation: items, orderBy: idd, select: [id]", "has no column 'idd'"),
    ('relation: items, orderBy: "${ input.word }", select: [id]', "[nested-find]"),
    ("relation: items, limit: 5000, select: [id]", "1000"),
    ("relation: items, limits: 5, select: [id]", "unknown key 'limits'"),
    ("where: id > 1", "'relation'"),
]


@pytest.mark.parametrize(("text", "message"), NESTED_MISTAKES)
def test_mistakes_in_nested_lists_are_told(text: str, message: str) -> None:
    function = (
        "input: { word: { type: string, enum: [id.desc] } }\n"
        "steps:\n  - find:\n      table: teams\n      select:\n        name: name\n"
        f"        best: {{ find: {{ {text} }} }}\n    as: found\n"
        '  - return: { value: "${ vars.found }" }\n'
    )
    found = validate(MemoryTree(with_function(function) | FILES))[1]
    assert message in "\n".join(map(str, found)), found
