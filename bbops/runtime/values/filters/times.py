"""Filters over datetimes and dates; zones are names such as `Europe/Berlin`, UTC if left out."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

from bbops.runtime.values import times
from bbops.runtime.values.failures import FlowError
from bbops.runtime.values.filters._registry import add_filter, need_text, refused


@add_filter(
    "toDatetime",
    ("'2026-03-05T10:00:00+02:00' | toDatetime | toString", "2026-03-05T08:00:00Z"),
    takes="text datetime date",
    gives="datetime",
)
def to_datetime(value: Any) -> datetime | None:
    """The moment an ISO 8601 text names (UTC without an offset), null for other text."""
    if type(value) is str:
        return times.parse_datetime(value)
    return _moment(value, "toDatetime")


@add_filter(
    "date",
    (
        "'2026-03-05T23:30:00Z' | toDatetime | date('%d.%m.%Y %H:%M', 'Europe/Berlin')",
        "06.03.2026 00:30",
    ),
    takes="datetime date",
    gives="text",
)
def write_date(value: Any, form: Any, zone: Any = "UTC") -> str:
    """The moment as text, by strftime letters and in a zone."""
    moment, letters, where = _moment(value, "date"), need_text(form, "date"), times.find_zone(zone)
    # A date is the same day in every zone.
    local = moment if type(value) is date else times.local_time(moment, where)
    return times.format_time(local, letters)


@add_filter(
    "add",
    ("'2026-01-31T00:00:00Z' | toDatetime | add('1mo') | toString", "2026-02-28T00:00:00Z"),
    takes="datetime date",
    gives="same",
)
def add(value: Any, duration: Any) -> Any:
    """The moment moved by a duration such as '-90d': ms, s, m, h, d, w, mo or y."""
    if type(value) is datetime or type(value) is date:
        return times.add_duration(value, need_text(duration, "add"))
    raise FlowError(_refused("add", value))


@add_filter(
    "startOf",
    ("'2026-03-05T23:30:00Z' | toDatetime | startOf('day') | toString", "2026-03-05T00:00:00Z"),
    takes="datetime date",
    gives="same",
)
def start_of(value: Any, unit: Any, zone: Any = "UTC") -> Any:
    """When the moment's second, minute, hour, day, week, month, quarter or year began in a zone."""
    moment, name, where = (
        _moment(value, "startOf"),
        need_text(unit, "startOf"),
        times.find_zone(zone),
    )
    if type(value) is date:
        return times.start_of(moment, name, UTC).date()
    return times.start_of(moment, name, where)


def _moment(value: Any, name: str) -> datetime:
    if type(value) is datetime:
        return value
    if type(value) is date:
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    raise FlowError(_refused(name, value))


def _refused(name: str, value: Any) -> str:
    message = refused(name, "a datetime", value)
    return f"{message}: add '| toDatetime' in front" if type(value) is str else message
