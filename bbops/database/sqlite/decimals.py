"""Decimals on SQLite, stored as text: exact arithmetic, sums and averages."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from decimal import Context, Decimal
from typing import Any, Final

from bbops.runtime.values.filters.numbers import divide

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
