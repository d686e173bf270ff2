"""Functions of our SQLite connections: datetimes, exact decimals, texts."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Context, Decimal
from functools import wraps
from typing import Any, Final

from bbops.database.schema.conversions import Stored
from bbops.database.sqlite.limits import LONGEST_VALUE_BYTES
from bbops.runtime.data.rows import stored_datetime
from bbops.runtime.values import times
from bbops.runtime.values.filters.numbers import divide

# ---- Functions on stored datetimes and dates for SQLite, the same as in the language

_DATE_SIZE = 10


def add_moments(connection: sqlite3.Connection) -> None:
    """Add the datetime functions of compiled statements to a connection; null stays null."""
    for name, function, takes in (
        ("bbops_date", _written, 3), ("bbops_start", _start, 3), ("bbops_add", _add, 3),
        ("bbops_days", _days, 3), ("bbops_between", _between, 2),
    ):  # fmt: skip
        connection.create_function(name, takes, _of_known(function), deterministic=True)


def _of_known(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def called(*given: Any) -> Any:
        return None if None in given else function(*given)

    return called


def _read(stored: str) -> datetime | date:
    if len(stored) == _DATE_SIZE:
        return date.fromisoformat(stored)
    return datetime.fromisoformat(stored)


def _store(moment: datetime | date) -> str:
    return stored_datetime(moment) if isinstance(moment, datetime) else moment.isoformat()


def _written(stored: str, form: str, zone: str) -> str:
    """`bbops_date`: the filter `date`."""
    moment = _read(stored)
    if isinstance(moment, datetime):
        return times.format_time(times.local_time(moment, times.find_zone(zone)), form)
    return times.format_time(datetime(moment.year, moment.month, moment.day, tzinfo=UTC), form)


def _start(stored: str, unit: str, zone: str) -> str:
    """`bbops_start`: the filter `startOf`."""
    moment = _read(stored)
    if isinstance(moment, datetime):
        return stored_datetime(times.start_of(moment, unit, times.find_zone(zone)))
    midnight = datetime(moment.year, moment.month, moment.day, tzinfo=UTC)
    return times.start_of(midnight, unit, UTC).date().isoformat()


def _add(stored: str, step: str | float, zone: str) -> str:
    """`bbops_add`: the filter `add`, of a duration or of seconds."""
    if isinstance(step, str):
        return _store(times.add_duration(_read(stored), step, times.find_zone(zone)))
    return _store(times.add_seconds(_read(stored), step))


def _days(stored: str, other: str, zone: str) -> int:
    """`bbops_days`: the filter `difference`."""
    return times.days_between(_read(stored), _read(other), times.find_zone(zone))


def _between(left: str, right: str) -> float:
    """`bbops_between`: the seconds between two datetimes."""
    return (datetime.fromisoformat(left) - datetime.fromisoformat(right)).total_seconds()


# ---- Decimals on SQLite, stored as text: exact arithmetic, sums and averages

EXACT: Final = Context(prec=4_000)
"""For decimals of at most 1,000 digits on either side of the point."""
_PLACES: Final = 6
"""The places of an average of decimals."""


def add_decimals(connection: sqlite3.Connection) -> None:
    """Add the decimal functions of compiled statements to a connection."""
    for name, function in (
        ("bbops_plus", EXACT.add), ("bbops_minus", EXACT.subtract), ("bbops_times", EXACT.multiply),
    ):  # fmt: skip
        connection.create_function(name, 2, _of_two(function), deterministic=True)
    connection.create_function("bbops_divide", 3, _divided, deterministic=True)
    connection.create_aggregate("bbops_sum", 1, Sum)
    connection.create_aggregate("bbops_avg", 1, Average)
    connection.create_collation("bbops_decimal", compare_decimals)


def _of_two(function: Callable[[Decimal, Decimal], Decimal]) -> Callable[[Any, Any], str | None]:
    def called(left: Any, right: Any) -> str | None:
        if left is None or right is None:
            return None
        return format(function(Decimal(str(left)), Decimal(str(right))), "f")

    return called


def _divided(value: Any, by: Any, places: int) -> str | None:
    """`bbops_divide`: the filter `divide`; by zero it is null, as `/` is."""
    if value is None or by is None or Decimal(str(by)) == 0:
        return None
    return format(divide(Decimal(str(value)), Decimal(str(by)), places), "f")


class Sum:
    """`bbops_sum`: the exact sum of decimals, without nulls."""

    def __init__(self) -> None:
        self.found: Decimal | None = None

    def step(self, value: Any) -> None:
        """Add the value of one more row."""
        if value is not None:
            self.found = EXACT.add(self.found or Decimal(0), Decimal(str(value)))

    def finalize(self) -> Any:
        """Return the sum; null without a value."""
        return None if self.found is None else format(self.found, "f")


class Average(Sum):
    """`bbops_avg`: the average of decimals with six places, halves away from zero."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def step(self, value: Any) -> None:
        """Add the value of one more row."""
        super().step(value)
        self.count += value is not None

    def finalize(self) -> Any:
        """Return the average; null without a value."""
        if self.found is None:
            return None
        above, below = self.found.as_integer_ratio()
        below *= self.count
        whole = (2 * abs(above) * 10**_PLACES + below) // (2 * below)
        found = Decimal(-whole if above < 0 else whole)
        return format(EXACT.scaleb(found, -_PLACES), "f")


def compare_decimals(one: str, other: str) -> int:
    """`bbops_decimal`: order by value, so `1.0` equals `1.00`; other texts come last."""
    if one == other:
        return 0
    left, right = _sort_key(one), _sort_key(other)
    return (left > right) - (left < right)


def _sort_key(text: str) -> tuple[bool, Decimal, str]:
    try:
        number = Decimal(text)
    except ArithmeticError:
        return True, Decimal(0), text
    return (False, number, "") if number.is_finite() else (True, Decimal(0), text)


# ---- Text functions for SQLite that cost the sum of two lengths instead of the product
# Each returns the same as SQLite's own function, for any values.

_MOST_TRIMMED: Final = 100
_MOST_PATCHED: Final = 100_000
"""json_patch compares every key with every other: 1 s for two of these bytes."""


def bound_functions(connection: sqlite3.Connection) -> None:
    """Replace the functions of SQLite whose cost grows with the product of two lengths.

    SQLite's own json_patch runs in a database in memory, which closes with the connection.
    """
    beside: list[sqlite3.Connection] = getattr(connection, "beside", [])

    def patch(one: Stored, other: Stored) -> Any:
        if max(len(str(one)), len(str(other))) > _MOST_PATCHED:
            raise ValueError
        if not beside:
            beside.append(sqlite3.connect(":memory:", check_same_thread=False))
        return beside[0].execute("SELECT json_patch(?, ?)", (one, other)).fetchone()[0]

    connection.create_function("json_patch", 2, patch, deterministic=True)
    connection.create_function("instr", 2, find_text, deterministic=True)
    connection.create_function("replace", 3, replace_text, deterministic=True)
    for name, strip in (("trim", str.strip), ("ltrim", str.lstrip), ("rtrim", str.rstrip)):
        connection.create_function(name, 2, _trimming(strip), deterministic=True)


def find_text(within: Stored, wanted: Stored) -> int | None:
    """`instr`: the position of one text in another from 1 on, 0 if it is missing."""
    if within is None or wanted is None:
        return None
    if isinstance(within, bytes) and isinstance(wanted, bytes):
        return within.find(wanted) + 1
    return _text(within).find(_text(wanted)) + 1


def replace_text(within: Stored, old: Stored, new: Stored) -> str | None:
    """`replace`: an empty text is found nowhere."""
    if within is None or old is None or new is None:
        return None
    text, before, after = _text(within), _text(old), _text(new)
    if not before:
        return text
    if len(text) + text.count(before) * (len(after) - len(before)) > LONGEST_VALUE_BYTES:
        raise OverflowError  # SQLite reports that it is too big
    return text.replace(before, after)


def _trimming(strip: Callable[[str, str], str]) -> Callable[[Stored, Stored], str | None]:
    def trim(value: Stored, characters: Stored) -> str | None:
        if value is None or characters is None:
            return None
        each = "".join(set(_text(characters)))
        if len(each) > _MOST_TRIMMED:
            raise ValueError
        return strip(_text(value), each) if each else _text(value)

    return trim


def _text(value: Stored) -> str:
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, float):
        digits = f"{value:.15g}"
        return digits if set(digits) & set(".en") else f"{digits}.0"
    return str(value)
