"""Groups and totals that reports ask for, on each database and in plain Python."""

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
    groups,
    known,
    last,
    lead,
    of_team,
    same,
    team,
)
from tests.support.workbench import Bench

__all__ = ["bench"]

Case = tuple[str, str, Callable[[], Any]]


def by(name: str) -> list[tuple[Any, list[dict[str, Any]]]]:
    return sorted(groups(lambda r: r[name]).items(), key=lambda pair: last(pair[0]))


GROUPS: list[Case] = [
    ("a column", "aggregate: { groupBy: [status], values: { n: count() } }",
        lambda: [{"status": k, "n": len(v)} for k, v in by("status")]),
    ("a column with nulls", "aggregate: { groupBy: [team_id], values: { n: count() } }",
        lambda: [{"team_id": k, "n": len(v)} for k, v in by("team_id")]),
    ("a relation", "aggregate: { groupBy: { team: team.name }, values: { n: count() } }",
        lambda: [{"team": k, "n": len(v)} for k, v in sorted(
            groups(lambda r: team(r)["name"]).items(), key=lambda p: last(p[0]))]),
    ("a relation of a relation",
        ("aggregate: { groupBy: { city: team.lead.city, who: team.lead.name },"
        " values: { n: count() } }"),
        lambda: [{"city": k[0], "who": k[1], "n": len(v)} for k, v in sorted(
            groups(lambda r: (lead(team(r))["city"], lead(team(r))["name"])).items(),
            key=lambda p: (last(p[0][0]), last(p[0][1])))]),
    ("a relation's key, which is the column",
        "aggregate: { groupBy: { team: team.id }, values: { n: count() } }",
        lambda: [{"team": k, "n": len(v)} for k, v in by("team_id")]),
    ("an expression", ("aggregate: { groupBy: { long: (status | length) + 1 }, values: { n: "
        "count() } }"),
        lambda: [{"long": k + 1, "n": len(v)} for k, v in sorted(
            groups(lambda r: len(r["status"])).items())]),
    ("an expression with a value of the request",
        ('aggregate: { groupBy: { far: "points != null and points > input.least" },'
        " values: { n: count() }, having: far and n > input.least }"),
        lambda: [{"far": True, "n": sum((r["points"] or 0) > 2 for r in ITEMS)}]),
    ("related rows", ('table: teams\naggregate:\n  groupBy: { items: "count(items, status '
        "== 'open')\" }"
        "\n  values: { n: count() }"),
        lambda: [{"items": k, "n": len(v)} for k, v in sorted(groups(
            lambda t: sum(r["status"] == "open" for r in of_team(t)), TEAMS).items())]),
    ("decimals by their value", ("where: price != null\naggregate: { groupBy: [price], "
        "values: { n: count() } }"),
        lambda: [{"price": k, "n": len(v)} for k, v in sorted(
            groups(lambda r: r["price"], [r for r in ITEMS if r["price"] is not None]).items())]),
    ("a boolean", "aggregate: { groupBy: { over: ended != null }, values: { n: count() } }",
        lambda: [{"over": k, "n": len(v)} for k, v in sorted(
            groups(lambda r: r["ended"] is not None).items())]),
    ("order by a value, then by the group",
        ("aggregate: { groupBy: { team: team.name, status: status }, values: { n: count() } }\n"
        "orderBy: [n.desc, team, status.desc]"),
        lambda: [{"team": k[0], "status": k[1], "n": n} for k, n in sorted(
            ((k, len(v)) for k, v in sorted(groups(
                lambda r: (team(r)["name"], r["status"])).items(),
                key=lambda p: p[0][1], reverse=True)),
            key=lambda p: (-p[1], last(p[0][0])))]),
    ("order by a sum of decimals",
        "aggregate: { groupBy: [team_id], values: { s: sum(price) } }\norderBy: s.desc",
        lambda: sorted(({"team_id": k, "s": sum(known(v, "price"))} for k, v in by("team_id")),
                       key=lambda r: -r["s"])),
    ("a limit and an offset",
        ("aggregate: { groupBy: [points], values: { n: count() } }\norderBy: points.desc\n"
        "limit: 2\noffset: 1"),
        lambda: [{"points": k, "n": len(v)} for k, v in sorted(
            by("points"), key=lambda p: down(p[0]))][1:3]),
    ("the number of groups",
        ("aggregate: { groupBy: [team_id, status], values: { n: count() } }\nlimit: 1\n"
        "withTotal: true"),
        lambda: {"rows": [{"team_id": 1, "status": "done", "n": sum(
            r["team_id"] == 1 and r["status"] == "done" for r in ITEMS)}],
            "total": len(groups(lambda r: (r["team_id"], r["status"])))}),
    ("the number of groups that count",
        ("aggregate: { groupBy: [team_id, status], values: { n: count() }, having: n > 8 }\n"
        "limit: 0\nwithTotal: true"),
        lambda: {"rows": [], "total": sum(len(v) > 8 for v in groups(
            lambda r: (r["team_id"], r["status"])).values())}),
    ("no rows make no groups",
        "where: id < 0\naggregate: { groupBy: [status], values: { n: count() } }", list),
    ("no rows without groups",
        ("where: id < 0\none: required\naggregate: { values: { n: count(), d: "
        "countDistinct(points),"
        " s: sum(points), p: sum(price), a: avg(points), b: avg(price), m: min(made),"
        " x: max(price) } }"),
        lambda: {"n": 0, "d": 0, "s": 0, "p": Decimal(0), "a": None, "b": None, "m": None,
                 "x": None}),
]  # fmt: skip
VALUES: list[tuple[str, Callable[[list[dict[str, Any]]], Any]]] = [
    ("count(status == 'open')", lambda v: sum(r["status"] == "open" for r in v)),
    ("count(points == null)", lambda v: sum(r["points"] is None for r in v)),
    ("count(team.region == 'north')", lambda v: sum(team(r)["region"] == "north" for r in v)),
    ("count(input.least == 2)", len),
    ("countDistinct(points)", lambda v: len(set(known(v, "points")))),
    ("countDistinct(price)", lambda v: len(set(known(v, "price")))),
    ("countDistinct(team.region)", lambda v: len({
        team(r)["region"] for r in v if team(r)["region"] is not None})),
    ("countDistinct(made)", lambda v: len({r["made"] for r in v})),
    ("sum(points)", lambda v: sum(known(v, "points"))),
    ("sum(points, status != 'late')", lambda v: sum(
        known([r for r in v if r["status"] != "late"], "points"))),
    ("sum(points * 2, points != null and points > input.least)", lambda v: sum(
        2 * p for p in known(v, "points") if p > 2)),
    ("sum(weight)", lambda v: float(sum(r["weight"] for r in v))),
    ("sum(price)", lambda v: sum(known(v, "price"), Decimal(0))),
    ("sum(price, team_id == 2)", lambda v: sum(
        known([r for r in v if r["team_id"] == 2], "price"), Decimal(0))),
    ("avg(points)", lambda v: average(known(v, "points"))),
    ("avg(points, team.name == 'Red')", lambda v: average(
        known([r for r in v if r["team_id"] == 1], "points"))),
    ("avg(price)", lambda v: average(known(v, "price"))),
    ("avg(price, status == 'late')", lambda v: average(
        known([r for r in v if r["status"] == "late"], "price"))),
    ("min(price)", lambda v: min(known(v, "price"), default=None)),
    ("max(price, price != null and points == 9)", lambda v: max(
        known([r for r in v if r["points"] == 9], "price"), default=None)),
    ("min(status)", lambda v: min(r["status"] for r in v)),
    ("max(team.name)", lambda v: max(
        (team(r)["name"] for r in v if r["team_id"]), default=None)),
    ("min(made, ended != null)", lambda v: min(
        (r["made"] for r in v if r["ended"]), default=None)),
    ("max(due)", lambda v: max(r["due"] for r in v).isoformat()),
]  # fmt: skip
HAVING: list[tuple[str, Callable[[dict[str, Any]], bool]]] = [
    ("n > 8", lambda g: g["n"] > 8),
    ("n > 5 and s >= 20", lambda g: g["n"] > 5 and g["s"] >= 20),
    ("m != null and m > 3.5", lambda g: g["m"] is not None and g["m"] > 3.5),
    ("m == null", lambda g: g["m"] is None),
    ("p > 100", lambda g: g["p"] > 100),
    ("p < 19.99 or p == 40.0", lambda g: g["p"] < Decimal("19.99") or g["p"] == 40),
    ("status in ['open', 'done'] and not (team_id == 2)",
        lambda g: g["status"] in {"open", "done"} and g["team_id"] != 2),
    ("team_id == null", lambda g: g["team_id"] is None),
    ("n == d", lambda g: g["n"] == g["d"]),
    ("input.least == 3 or n % 2 == 0", lambda g: g["n"] % 2 == 0),
    ("(status | startsWith('l'))", lambda g: g["status"].startswith("l")),
]  # fmt: skip


@pytest.mark.parametrize(("text", "wanted"), [c[1:] for c in GROUPS], ids=[c[0] for c in GROUPS])
def test_groups_are_those_of_plain_python(
    bench: Bench, text: str, wanted: Callable[[], Any]
) -> None:
    text = text if text.startswith("table:") else f"table: items\n{text}"
    found, expected = find(bench, text), wanted()
    assert same(found, expected), (found, expected)


@pytest.mark.parametrize(("value", "wanted"), VALUES, ids=[v[0] for v in VALUES])
def test_values_of_groups_are_those_of_plain_python(
    bench: Bench, value: str, wanted: Callable[[Any], Any]
) -> None:
    text = f'table: items\naggregate: {{ groupBy: [team_id, points], values: {{ x: "{value}" }} }}'
    pairs = sorted(
        groups(lambda r: (r["team_id"], r["points"])).items(),
        key=lambda p: (last(p[0][0]), last(p[0][1])),
    )
    expected = [{"team_id": k[0], "points": k[1], "x": wanted(v)} for k, v in pairs]
    found = find(bench, text)
    assert same(found, expected), (found, expected)
    whole = f'table: items\none: required\naggregate: {{ values: {{ x: "{value}" }} }}'
    assert same(find(bench, whole), {"x": wanted(ITEMS)})


@pytest.mark.parametrize(("having", "holds"), HAVING, ids=[h[0] for h in HAVING])
def test_having_asks_groups_by_their_names(
    bench: Bench, having: str, holds: Callable[[Any], bool]
) -> None:
    text = (
        "table: items\naggregate:\n  groupBy: [team_id, status]\n"
        "  values: { n: count(), s: sum(points), m: avg(points), p: sum(price),"
        " d: countDistinct(points) }\n"
        f'  having: "{having}"'
    )
    pairs = sorted(
        groups(lambda r: (r["team_id"], r["status"])).items(),
        key=lambda p: (last(p[0][0]), p[0][1]),
    )
    every = [
        {
            "team_id": k[0], "status": k[1], "n": len(v), "s": sum(known(v, "points")),
            "m": average(known(v, "points")), "p": sum(known(v, "price"), Decimal(0)),
            "d": len(set(known(v, "points"))),
        }
        for k, v in pairs
    ]  # fmt: skip
    found, expected = find(bench, text), [row for row in every if holds(row)]
    assert same(found, expected), (found, expected)


MISTAKES = [
    ("aggregate: { groupBy: { a: 1 }, values: { n: count() } }", "reads no column"),
    ("aggregate: { groupBy: { a: extra }, values: { n: count() } }", "makes no groups"),
    ("aggregate: { groupBy: { a: tem.name }, values: { n: count() } }", "did you mean 'team'"),
    ("aggregate: { groupBy: status, values: { n: count() } }", "write [status]"),
    ("aggregate: { groupBy: { A: status }, values: { n: count() } }", "'A' is not a name"),
    (
        "aggregate: { groupBy: { n: status }, values: { n: count() } }",
        "a name of 'groupBy' already",
    ),
    ("aggregate: { values: { n: countDistinct() } }", "takes one argument"),
    ("aggregate: { values: { n: 'sum(points, status)' } }", "needs true or false, got text"),
    ("aggregate: { values: { n: 'sum(status, points == 1)' } }", "'sum' needs a number, got text"),
    ("aggregate: { values: { n: max(extra) } }", "of json is not supported"),
    ("aggregate: { values: { n: count() }, having: count() > 1 }", "[having]"),
    ("aggregate: { values: { n: count() }, having: m > 1 }", "'aggregate' has no name 'm'"),
    ("aggregate: { values: { input: count() }, having: true }", "is a reserved word"),
    ("aggregate: { values: { n: count() }, having: n }", "needs true or false, got integer"),
    ("aggregate: { values: { n: avg(points) }, having: n > 1 }", "maybe-null"),
    ("aggregate: { values: { n: avg(secret) } }", "private-data"),
    ("aggregate: { values: { n: avg(hidden) } }", "private-data"),
    ("aggregate: { values: { n: sum(hidden) } }", "private-data"),
    ("aggregate: { values: { n: 'max(secret, points == 1)' } }", "private-data"),
    ("aggregate: { values: { n: countDistinct(secret) } }", "private-data"),
    ("aggregate: { groupBy: { s: secret + 1 }, values: { n: count() } }", "private-data"),
    ("aggregate: { groupBy: [secret], values: { n: count() } }", "private-data"),
    ("distinct: true\n      select: [secret]", "private-data"),
    ("distinct: true", "[distinct-order]"),
    ("distinct: true\n      select: { a: { b: status } }", "[distinct-order]"),
    ("distinct: true\n      select: [status]\n      orderBy: id", "[distinct-order]"),
    ("distinct: true\n      select: [extra]", "makes no groups"),
    ("distinct: true\n      select: [status]\n      after: null", "[paging]"),
    ("select: { points: id }\n      orderBy: points", "write 'row.points' for the column"),
    ("select: { a: count(team.items) }\n      orderBy: a\n      after: null", "[paging]"),
    ("select: { a: 'list(team.items, id)' }\n      orderBy: a", "'a' is a list"),
    ("select: { a: 'avg(team.items, secret)' }", "private-data"),
    ("select: { a: 'first(team.items, secret)' }", "private-data"),
    ("select: { a: 'min(team.items, extra)' }", "json columns cannot be compared"),
    ("select: { a: 'avg(team.items, status)' }", "'avg' needs a number, got text"),
]


@pytest.mark.parametrize(("text", "message"), MISTAKES)
def test_mistakes_in_reports_are_told(text: str, message: str) -> None:
    function = (
        f"steps:\n  - find:\n      table: items\n      {text}\n    as: found\n"
        '  - return: { value: "${ vars.found }" }\n'
    )
    found = validate(MemoryTree(with_function(function) | FILES))[1]
    assert message in "\n".join(map(str, found))
