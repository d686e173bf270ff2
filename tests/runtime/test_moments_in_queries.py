"""Filters on datetimes and dates of columns, on each database and in plain Python."""

from __future__ import annotations

import calendar
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from bbops.compiler.check import validate
from bbops.runtime.values.filters import FILTERS
from bbops.source.tree import MemoryTree
from tests.conftest import NOTES, with_function
from tests.support.postgres import SLOW_DATABASES, place_of
from tests.support.reports import BERLIN, FILES, ITEMS, bench, find, groups, last, same
from tests.support.workbench import Bench

__all__ = ["bench"]

UNITS = ("second", "minute", "hour", "day", "week", "month", "quarter", "year")


# ---- plain Python
def to_utc(local: datetime, zone: ZoneInfo) -> datetime:
    return local.replace(tzinfo=zone, fold=0).astimezone(UTC)


def start_of(moment: datetime, unit: str, zone: ZoneInfo) -> datetime:
    at = moment.astimezone(zone)
    if unit in {"second", "minute", "hour"}:  # they keep the offset: a repeated hour is two hours
        rest = timedelta(microseconds=at.microsecond)
        rest += timedelta(seconds=at.second) if unit != "second" else timedelta()
        rest += timedelta(minutes=at.minute) if unit == "hour" else timedelta()
        return moment - rest
    day = at.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None, fold=0)
    if unit == "week":
        day -= timedelta(days=day.weekday())
    elif unit == "month":
        day = day.replace(day=1)
    elif unit == "quarter":
        day = day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1)
    elif unit == "year":
        day = day.replace(month=1, day=1)
    return to_utc(day, zone)


def add_months(moment: Any, count: int) -> Any:
    year, month = divmod(moment.year * 12 + moment.month - 1 + count, 12)
    most = calendar.monthrange(year, month + 1)[1]
    return moment.replace(year=year, month=month + 1, day=min(moment.day, most))


def add(moment: datetime, count: int, unit: str, zone: ZoneInfo) -> datetime:
    local = moment.astimezone(zone).replace(tzinfo=None, fold=0)
    if unit in {"d", "w"}:
        return to_utc(local + timedelta(days=count * (7 if unit == "w" else 1)), zone)
    return to_utc(add_months(local, count * (12 if unit == "y" else 1)), zone)


def local(moment: datetime) -> datetime:
    return moment.astimezone(BERLIN)


VALUES: list[tuple[str, Callable[[dict[str, Any]], Any]]] = [
    ("made | date('%F')", lambda r: f"{r['made']:%Y-%m-%d}"),
    ("made | date('%F', 'Europe/Berlin')", lambda r: f"{local(r['made']):%Y-%m-%d}"),
    ("made | date('%F', input.zone)", lambda r: f"{local(r['made']):%Y-%m-%d}"),
    ("made | date('%G-W%V-%u, %j %H:%M:%S.%f %%', 'Europe/Berlin')",
        lambda r: f"{local(r['made']):%G-W%V-%u, %j %H:%M:%S.%f} %"),
    ("made | date('%A %a %d %B %b %y %I %p \"it\\'s\"')",
        lambda r: f"{r['made']:%A %a %d %B %b %y %I %p} \"it's\""),
    ("made | date('')", lambda _: ""),
    ("due | date('%d.%m.%Y %H:%M')", lambda r: f"{r['due']:%d.%m.%Y} 00:00"),
    *((f"made | startOf('{unit}')",
        lambda r, unit=unit: start_of(r["made"], unit, ZoneInfo("UTC"))) for unit in UNITS),
    *((f"made | startOf('{unit}', 'Europe/Berlin')",
        lambda r, unit=unit: start_of(r["made"], unit, BERLIN)) for unit in UNITS),
    ("made | startOf('day', input.zone)", lambda r: start_of(r["made"], "day", BERLIN)),
    ("due | startOf('month')", lambda r: r["due"].replace(day=1).isoformat()),
    ("due | startOf('week')", lambda r: (
        r["due"] - timedelta(days=r["due"].weekday())).isoformat()),
    ("made | add('90m')", lambda r: r["made"] + timedelta(minutes=90)),
    ("made | add('-36h', 'Europe/Berlin')", lambda r: r["made"] - timedelta(hours=36)),
    ("made | add('1500ms')", lambda r: r["made"] + timedelta(milliseconds=1500)),
    ("made | add('1d')", lambda r: r["made"] + timedelta(days=1)),
    ("made | add('-1d', 'Europe/Berlin')", lambda r: add(r["made"], -1, "d", BERLIN)),
    ("made | add('2w', input.zone)", lambda r: add(r["made"], 2, "w", BERLIN)),
    ("made | add('1mo', 'Europe/Berlin')", lambda r: add(r["made"], 1, "mo", BERLIN)),
    ("made | add('-1y')", lambda r: add(r["made"], -1, "y", ZoneInfo("UTC"))),
    ("made | add(weight | hours)", lambda r: r["made"] + timedelta(hours=r["weight"])),
    ("made | add(-30 | minutes)", lambda r: r["made"] - timedelta(minutes=30)),
    ("due | add('1mo')", lambda r: add_months(r["due"], 1).isoformat()),
    ("due | add('-3d')", lambda r: (r["due"] - timedelta(days=3)).isoformat()),
    ("made | difference(due, 'd')", lambda r: (r["made"].date() - r["due"]).days),
    ("made | difference(due, 'd', 'Europe/Berlin')",
        lambda r: (local(r["made"]).date() - r["due"]).days),
    ("due | difference(due, 'd')", lambda _: 0),
    ("(ended | default(made)) - made",
        lambda r: ((r["ended"] or r["made"]) - r["made"]).total_seconds()),
    ("(ended | default(made)) - made > 2 | hours",
        lambda r: (r["ended"] or r["made"]) - r["made"] > timedelta(hours=2)),
    ("(points | default(1)) | days", lambda r: (1 if r["points"] is None else r["points"]) * 86400),
]  # fmt: skip


@pytest.mark.parametrize(("value", "wanted"), VALUES, ids=[one[0] for one in VALUES])
def test_moments_are_those_of_plain_python(
    bench: Bench, value: str, wanted: Callable[[Any], Any]
) -> None:
    text = f"table: items\nselect:\n  id: id\n  x: {_quoted(value)}\norderBy: id"
    found, expected = find(bench, text), [{"id": r["id"], "x": wanted(r)} for r in ITEMS]
    assert same(found, expected), [
        pair for pair in zip(found, expected, strict=True) if not same(*pair)
    ][:3]


GROUPS = [
    "made | date('%F', 'Europe/Berlin')", "made | startOf('month', 'Europe/Berlin')",
    "made | startOf('day', input.zone)", "made | add('1d', 'Europe/Berlin')", "made | date('%F')",
    "made | difference(due, 'd', 'Europe/Berlin')",
]  # fmt: skip


@pytest.mark.parametrize("value", GROUPS)
def test_rows_are_grouped_by_moments(bench: Bench, value: str) -> None:
    wanted = dict(VALUES) | {
        "made | startOf('month', 'Europe/Berlin')": lambda r: start_of(r["made"], "month", BERLIN),
        "made | add('1d', 'Europe/Berlin')": lambda r: add(r["made"], 1, "d", BERLIN),
    }
    text = (
        f"table: items\naggregate:\n  groupBy:\n    x: {_quoted(value)}\n    s: status\n"
        "  values: { n: count(), p: sum(points) }\n  having: n > 1\nwithTotal: true"
    )
    pairs = groups(lambda r: (wanted[value](r), r["status"])).items()
    expected = [
        {"x": k[0], "s": k[1], "n": len(v), "p": sum(r["points"] or 0 for r in v)}
        for k, v in sorted(pairs, key=lambda p: (last(p[0][0]), p[0][1])) if len(v) > 1
    ]  # fmt: skip
    found = find(bench, text)
    assert same(found, {"rows": expected, "total": len(expected)}), (found, expected)


def test_conditions_compare_moments(bench: Bench) -> None:
    where = (
        "ended != null and ended - made > 2 | hours"
        " and made >= (row.ended | add('-400d', 'Europe/Berlin'))"
        " and (made | date('%Y', 'Europe/Berlin')) in ['2026', '2025']"
    )
    found = find(bench, f"table: items\nwhere: {_quoted(where)}\nselect: [id]\norderBy: id")
    assert found == [
        {"id": r["id"]} for r in ITEMS
        if r["ended"] and r["ended"] - r["made"] > timedelta(hours=2)
        and r["made"] >= add(r["ended"], -400, "d", BERLIN)
        and local(r["made"]).year in {2025, 2026}
    ]  # fmt: skip
    assert found


MISTAKES = [
    ("made | date('%F', 'Europe/Berln')", "is not a time zone"),
    ("made | date('%F', status)", "[zone]"),
    ("made | date('%F', input.word)", "[zone]"),
    ("made | date('%F', input.bad)", "[zone]"),
    ("made | date(input.word)", "the format of 'date' is a constant"),
    ("made | date('%F %Z')", "'%Z' has no equal in SQL"),
    ("made | startOf('decade')", "is not one of"),
    ("made | startOf(input.word)", "the unit of 'startOf' is a constant"),
    ("made | add('1 month')", "is not a duration"),
    ("made | add(input.word)", "the duration of 'add' is a constant"),
    ("due | add(3 | hours)", "a date has no time of day"),
    ("made | difference(due, 'mo')", "its unit is 'd'"),
    ("made | difference(status, 'd')", "'difference' needs datetime or date here"),
    ("ended | date('%F')", "maybe-null"),
    ("extra | date('%F')", "'date' of json is not supported"),
    ("ended - made", "maybe-null"),
]


@pytest.mark.parametrize(("value", "message"), MISTAKES)
def test_mistakes_with_moments_are_told(value: str, message: str) -> None:
    function = (
        "input: { word: string, bad: { type: string, enum: [UTC, Mars] } }\n"
        f"steps:\n  - find:\n      table: items\n      select:\n        x: {_quoted(value)}\n"
        '    as: found\n  - return: { value: "${ vars.found }" }\n'
    )
    found = validate(MemoryTree(with_function(function) | FILES))[1]
    assert message in "\n".join(map(str, found))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


# ---- near changes of the clock
ZONES = [
    "UTC", "Europe/Berlin", "America/New_York", "America/Havana", "Australia/Lord_Howe",
    "Asia/Kolkata", "Asia/Kathmandu", "America/Sao_Paulo", "Pacific/Apia", "Africa/Cairo",
    "Asia/Beirut", "America/St_Johns",
]  # fmt: skip
MOMENTS = {
    "tables/notes.yaml": NOTES,
    "tables/moments.yaml": "columns:\n  id: { type: integer, primaryKey: true }\n"
    "  at: { type: datetime }\n",
}


@pytest.fixture(scope="module", params=SLOW_DATABASES)
def moments(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Bench]:
    with (
        place_of(request, tmp_path_factory.mktemp("moments")) as place,
        Bench(place, MOMENTS) as found,
    ):
        yield found


def near_changes(name: str, count: int) -> list[datetime]:
    """Return moments at random, every other one near a change of the clock."""
    draw, zone = Random(name), ZoneInfo(name)
    low, high = datetime(1990, 1, 1, tzinfo=UTC), datetime(2026, 10, 1, tzinfo=UTC)
    found = []
    for at in range(count):
        moment = low + (high - low) * draw.random()
        found.append(_near(moment, zone, draw) if at % 2 else moment)
    return found


def _near(moment: datetime, zone: ZoneInfo, draw: Random) -> datetime:
    for _ in range(60):
        after = moment + timedelta(days=7)
        if moment.astimezone(zone).utcoffset() != after.astimezone(zone).utcoffset():
            while after - moment > timedelta(minutes=15):
                middle = moment + (after - moment) / 2
                if middle.astimezone(zone).utcoffset() == moment.astimezone(zone).utcoffset():
                    moment = middle
                else:
                    after = middle
            shift = timedelta(minutes=draw.randint(-180, 180), microseconds=draw.randint(0, 999999))
            return after + shift
        moment = after
    return moment


@pytest.mark.long
@pytest.mark.parametrize("name", ZONES)
def test_changes_of_the_clock_are_the_same_everywhere(moments: Bench, name: str) -> None:
    every, zone = near_changes(name, 60), ZoneInfo(name)
    moments.sql("DELETE FROM moments")
    for at, moment in enumerate(every):
        stored = f"{moment.isoformat(timespec='microseconds')[:26]}Z"
        moments.sql("INSERT INTO moments (id, at) VALUES (?, ?)", at, stored)
    steps = [("1d", 1, "d"), ("-1d", -1, "d"), ("3w", 3, "w"), ("1mo", 1, "mo"), ("-5mo", -5, "mo"),
             ("1y", 1, "y")]  # fmt: skip
    lines = [f"        {unit}: at | startOf('{unit}', '{name}')" for unit in UNITS]
    lines += [f"        s{at}: at | add('{one[0]}', '{name}')" for at, one in enumerate(steps)]
    text = "\n".join(["steps:", "  - find:", "      table: moments", "      select:", *lines,
                      "      orderBy: id", "    as: found",
                      "  - return: { value: '${ vars.found }' }", ""])  # fmt: skip
    found = moments.run(text)
    for row, moment in zip(found, every, strict=True):
        wanted = {unit: start_of(moment, unit, zone) for unit in UNITS}
        wanted |= {f"s{at}": add(moment, n, u, zone) for at, (_, n, u) in enumerate(steps)}
        assert same(row, wanted), (moment, row, wanted)
        for unit in UNITS:
            assert FILTERS["startOf"].apply(moment, unit, name) == wanted[unit]
        for at, (step, _, _) in enumerate(steps):
            assert FILTERS["add"].apply(moment, step, name) == wanted[f"s{at}"]


def test_a_date_has_no_zone() -> None:
    assert FILTERS["add"].apply(date(2026, 1, 31), "1mo", "Europe/Berlin") == date(2026, 2, 28)


def test_nested_lists_hold_moments(bench: Bench) -> None:
    text = """
table: teams
where: id == 2
select:
  items:
    find:
      relation: items
      orderBy: id
      limit: 5
      select:
        start: made | startOf('day', 'Europe/Berlin')
        next: made | add('1mo', 'Europe/Berlin')
        day: made | date('%d.%m.%Y', 'Europe/Berlin')
        days: made | difference(due, 'd')
        due: due | startOf('month')
"""
    rows = [r for r in ITEMS if r["team_id"] == 2][:5]
    expected = [{"items": [
        {
            "start": start_of(r["made"], "day", BERLIN), "next": add(r["made"], 1, "mo", BERLIN),
            "day": f"{local(r['made']):%d.%m.%Y}", "days": (r["made"].date() - r["due"]).days,
            "due": r["due"].replace(day=1).isoformat(),
        }
        for r in rows
    ]}]  # fmt: skip
    found = find(bench, text)
    assert same(found, expected), (found, expected)
