"""Functions on stored datetimes and dates for SQLite, the same as in the language."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from datetime import UTC, date, datetime
from functools import wraps
from typing import Any

from bbops.runtime.data.rows import stored_datetime
from bbops.runtime.values import times

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
