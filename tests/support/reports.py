"""Tables to report on, filled at random with nulls, ties and moments near changes of the clock."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tests.conftest import NOTES
from tests.support.postgres import DATABASES, place_of
from tests.support.workbench import Bench

FILES = {
    "tables/notes.yaml": NOTES,
    "tables/teams.yaml": """
columns:
  id: { type: integer, primaryKey: true }
  name: { type: string }
  region: { type: string, nullable: true }
  lead_id: { type: integer, nullable: true, references: people.id }
""",
    "tables/people.yaml": """
columns:
  id: { type: integer, primaryKey: true }
  name: { type: string }
  city: { type: string, nullable: true }
""",
    "tables/items.yaml": """
columns:
  id: { type: integer, primaryKey: true }
  team_id: { type: integer, nullable: true, references: teams.id }
  status: { type: string, enum: [open, done, late] }
  points: { type: integer, nullable: true }
  weight: { type: number }
  price: { type: decimal, nullable: true }
  made: { type: datetime }
  ended: { type: datetime, nullable: true }
  due: { type: date }
  secret: { type: integer, private: true }
  hidden: { type: decimal, private: true }
  extra: { type: json, nullable: true }
""",
}
Row = dict[str, Any]
BERLIN = ZoneInfo("Europe/Berlin")
_MOMENTS = [
    datetime(2026, 3, 29, 0, 59, 59, 999999, UTC), datetime(2026, 3, 29, 1, 0, tzinfo=UTC),
    datetime(2026, 10, 25, 0, 30, tzinfo=UTC), datetime(2026, 10, 25, 1, 30, tzinfo=UTC),
    datetime(2026, 10, 24, 22, 0, tzinfo=UTC), datetime(2025, 12, 31, 23, 30, tzinfo=UTC),
    datetime(2024, 2, 29, 12, 0, 0, 250000, UTC), datetime(2026, 1, 31, 5, 6, 7, tzinfo=UTC),
]  # fmt: skip
PEOPLE: list[Row] = [
    {"id": 1, "name": "Ada", "city": "Rome"}, {"id": 2, "name": "Bo", "city": None},
]  # fmt: skip
TEAMS: list[Row] = [
    {"id": 1, "name": "Red", "region": None, "lead_id": 1},
    {"id": 2, "name": "Blue", "region": "north", "lead_id": 2},
    {"id": 3, "name": "Empty", "region": "south", "lead_id": None},
    {"id": 4, "name": "blue", "region": "north", "lead_id": 1},
]


def _items() -> list[Row]:
    draw = Random(5)
    prices = [None, "0.10", "0.1", "0.20", "19.99", "100.005", "-3.30"]
    found = []
    for at in range(1, 121):
        made = draw.choice(_MOMENTS) + timedelta(days=draw.choice([0, 0, 1, 40]))
        price = draw.choice(prices)
        found.append({
            "id": at, "team_id": draw.choice([1, 2, 2, 4, None]),
            "status": draw.choice(["open", "done", "late"]),
            "points": draw.choice([None, 0, 1, 5, 5, 9]), "weight": draw.choice([0.5, 1.25, 3.0]),
            "price": None if price is None else Decimal(price), "made": made,
            "ended": draw.choice([None, draw.choice(_MOMENTS)]),
            "due": draw.choice(_MOMENTS).date(), "secret": at % 7,
            "hidden": Decimal(at) / 4, "extra": None,
        })  # fmt: skip
    return found


ITEMS = _items()


@pytest.fixture(scope="module", params=DATABASES)
def bench(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Bench]:
    """A database with the tables, filled."""
    with (
        place_of(request, tmp_path_factory.mktemp("reports")) as place,
        Bench(place, FILES) as found,
    ):
        fill(found)
        yield found


def fill(bench: Bench) -> None:
    """Empty the tables and write their rows."""
    for table in ("items", "teams", "people"):
        bench.sql(f"DELETE FROM {table}")
    for table, rows in (("people", PEOPLE), ("teams", TEAMS), ("items", ITEMS)):
        names = list(rows[0])
        marks = ", ".join("?" for _ in names)
        for row in rows:
            text = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})"
            bench.sql(text, *map(_stored, row.values()))


def _stored(value: Any) -> Any:
    if isinstance(value, datetime):
        return f"{value.isoformat(timespec='microseconds')[:26]}Z"
    return str(value) if isinstance(value, Decimal) or hasattr(value, "isoformat") else value


def find(bench: Bench, text: str, body: Any = None) -> Any:
    """Return what a `find` with these lines gives."""
    lines = "\n".join(f"      {line}" for line in text.strip().splitlines())
    return bench.run(
        "input: { least: integer, zone: { type: string, enum: [UTC, Europe/Berlin] } }\n"
        f"steps:\n  - find:\n{lines}\n    as: found\n"
        "  - return: { value: '${ vars.found }' }\n",
        body or {"least": 2, "zone": "Europe/Berlin"},
    )


def same(found: Any, wanted: Any) -> bool:
    """Return whether an answer is what was wanted: numbers nearly, decimals and times by value."""
    match wanted:
        case Decimal():
            return isinstance(found, str) and Decimal(found) == wanted
        case bool() | None:
            return found is wanted
        case float():
            return found is not None and abs(found - wanted) < 1e-9 * max(1.0, abs(wanted))
        case datetime():
            return isinstance(found, str) and datetime.fromisoformat(found) == wanted
        case dict():
            return (
                isinstance(found, dict) and list(found) == list(wanted)
                and all(same(found[name], value) for name, value in wanted.items())
            )  # fmt: skip
        case list():
            return (
                isinstance(found, list) and len(found) == len(wanted)
                and all(map(same, found, wanted))
            )  # fmt: skip
    return bool(found == wanted and type(found) is type(wanted))


# ---- plain Python
def team(row: Row) -> Row:
    """Return the team of an item, with nulls where it has none."""
    empty = dict.fromkeys(TEAMS[0])
    return next((one for one in TEAMS if one["id"] == row["team_id"]), empty)


def lead(row: Row) -> Row:
    """Return the lead of a team, with nulls where it has none."""
    empty = dict.fromkeys(PEOPLE[0])
    return next((one for one in PEOPLE if one["id"] == row["lead_id"]), empty)


def of_team(row: Row) -> list[Row]:
    """Return the items of a team."""
    return [one for one in ITEMS if one["team_id"] == row["id"]]


def known(rows: Iterable[Row], name: str) -> list[Any]:
    """Return the values of a column that are not null."""
    return [row[name] for row in rows if row[name] is not None]


def average(values: list[Any]) -> Any:
    """Return an average as `avg` gives it: of decimals with six places, halves away from zero."""
    if not values:
        return None
    if not isinstance(values[0], Decimal):
        return sum(values) / len(values)
    above, below = sum(values).as_integer_ratio()
    below *= len(values)
    whole = (2 * abs(above) * 10**6 + below) // (2 * below)
    return Decimal(-whole if above < 0 else whole) / 10**6


def groups(key: Callable[[Row], Any], rows: Iterable[Row] | None = None) -> dict[Any, list[Row]]:
    """Return rows by a key."""
    found: dict[Any, list[Row]] = {}
    for row in ITEMS if rows is None else rows:
        found.setdefault(key(row), []).append(row)
    return found


def last(value: Any) -> tuple[bool, Any]:
    """Return what sorts a value as a query does, going up: null is last."""
    return value is None, 0 if value is None else value


def down(value: Any) -> tuple[bool, Any]:
    """Return what sorts a number as a query does, going down."""
    return value is None, 0 if value is None else -value
