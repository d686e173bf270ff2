"""Filters over datetimes and dates; zones are names such as `Europe/Berlin`, UTC if left out."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any, Final

from bbops.runtime.values import times
from bbops.runtime.values.failures import BadValue, WrongKind
from bbops.runtime.values.filters._registry import add_filter, need_number, need_text, refused
from bbops.runtime.values.operators import mul
from bbops.runtime.values.values import NUMBERS, bounded_number

SECONDS: Final = {
    "seconds": 1, "minutes": 60, "hours": 3_600, "days": 86_400, "weeks": 604_800,
}  # fmt: skip
"""How many seconds the filters of that name make of one."""


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
def add(value: Any, duration: Any, zone: Any = "UTC") -> Any:
    """The moment moved by a duration such as '-90d' (ms, s, m, h, d, w, mo or y), or by seconds.

    Days, weeks, months and years are those of the calendar in a zone.
    """
    if type(value) is not datetime and type(value) is not date:
        raise WrongKind(_refused("add", value))
    where = times.find_zone(zone)
    if type(duration) in NUMBERS:
        return times.add_seconds(value, float(bounded_number(duration)))
    return times.add_duration(value, need_text(duration, "add"), where)


@add_filter(
    "difference",
    (
        (
            "'2026-03-05T23:30:00Z' | toDatetime | difference('2026-03-05T22:30:00Z' | toDatetime,"
            " 'd', 'Europe/Berlin')"
        ),
        1,
    ),
    takes="datetime date",
    gives="integer",
)
def difference(value: Any, other: Any, unit: Any, zone: Any = "UTC") -> int:
    """How many days ('d') of the calendar in a zone the moment is behind another one.

    The subtraction `a - b` of two datetimes gives the seconds between them.
    """
    for one in (value, other):
        _moment(one, "difference")
    name, where = need_text(unit, "difference"), times.find_zone(zone)
    if name != "d":
        found = f"its unit is 'd', found '{name[:40]}'; 'a - b' gives seconds"
        raise BadValue(f"'difference' counts days: {found}")
    return times.days_between(value, other, where)


@add_filter("seconds", ("90 | seconds", 90), takes="number", gives="same")
def seconds(value: Any) -> Any:
    """So many seconds, as seconds: for `add`, and beside the difference of two datetimes."""
    return need_number(value, "seconds")


@add_filter("minutes", ("2 | minutes", 120), takes="number", gives="same")
def minutes(value: Any) -> Any:
    """So many minutes as seconds."""
    return mul(need_number(value, "minutes"), SECONDS["minutes"])


@add_filter("hours", ("2 | hours", 7200), takes="number", gives="same")
def hours(value: Any) -> Any:
    """So many hours as seconds."""
    return mul(need_number(value, "hours"), SECONDS["hours"])


@add_filter("days", ("2 | days", 172800), takes="number", gives="same")
def days(value: Any) -> Any:
    """So many times 24 hours as seconds; `add('1d', zone)` moves by days of the calendar."""
    return mul(need_number(value, "days"), SECONDS["days"])


@add_filter("weeks", ("1 | weeks", 604800), takes="number", gives="same")
def weeks(value: Any) -> Any:
    """So many times seven days of 24 hours as seconds."""
    return mul(need_number(value, "weeks"), SECONDS["weeks"])


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
    raise WrongKind(_refused(name, value))


def _refused(name: str, value: Any) -> str:
    message = refused(name, "a datetime", value)
    return f"{message}: add '| toDatetime' in front" if type(value) is str else message
