"""Moments as text: ISO 8601 in, strftime letters out, durations and calendar steps between."""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Any, Final, TypeVar
from zoneinfo import ZoneInfo

from bbops.runtime.values.failures import BadValue, WrongKind
from bbops.runtime.values.values import quoted

Moment = TypeVar("Moment", date, datetime)

_DATE: Final = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_DATETIME: Final = re.compile(
    _DATE.pattern
    + r"(?:[Tt ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]{1,12}))?)?"
    + r"(?:[Zz]|([+-])([0-9]{2})(?::?([0-9]{2}))?)?)?"
)
_DURATION: Final = re.compile(r"([+-]?)([0-9]{1,9})(ms|mo|[smhdwy])")
_STEPS: Final = {
    "ms": timedelta(milliseconds=1),
    "s": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
}
TIME_UNITS: Final = frozenset({"ms", "s", "m", "h"})
"""Units of durations that are as long on every day."""
_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS: Final = (
    "January", "February", "March", "April", "May", "June", "July",
    "August", "September", "October", "November", "December",
)  # fmt: skip
_LETTERS: Final[dict[str, Callable[[datetime], str]]] = {
    # Written here because strftime differs between systems, years and locales.
    "a": lambda t: _DAYS[t.weekday()][:3],
    "A": lambda t: _DAYS[t.weekday()],
    "b": lambda t: _MONTHS[t.month - 1][:3],
    "B": lambda t: _MONTHS[t.month - 1],
    "d": lambda t: f"{t.day:02}",
    "e": lambda t: f"{t.day:2}",
    "f": lambda t: f"{t.microsecond:06}",
    "F": lambda t: t.date().isoformat(),
    "G": lambda t: f"{t.isocalendar().year:04}",
    "H": lambda t: f"{t.hour:02}",
    "I": lambda t: f"{(t.hour - 1) % 12 + 1:02}",
    "j": lambda t: f"{t.timetuple().tm_yday:03}",
    "m": lambda t: f"{t.month:02}",
    "M": lambda t: f"{t.minute:02}",
    "p": lambda t: "AM" if t.hour < 12 else "PM",
    "s": lambda t: str(int(t.timestamp() // 1)),
    "S": lambda t: f"{t.second:02}",
    "T": lambda t: f"{t:%H:%M:%S}",
    "u": lambda t: str(t.isoweekday()),
    "V": lambda t: f"{t.isocalendar().week:02}",
    "w": lambda t: str(t.isoweekday() % 7),
    "y": lambda t: f"{t.year % 100:02}",
    "Y": lambda t: f"{t.year:04}",
    "z": lambda t: f"{t:%z}",
    "Z": lambda t: t.tzname() or "",
    "%": lambda _: "%",
}
_LETTER: Final = re.compile("%(.?)", re.DOTALL)
_MAX_FORMAT: Final = 1_000
_MAX_ZONE: Final = 100
_OUT_OF_YEARS: Final = "the result is not between the years 1 and 9999"
STARTS: Final = ("second", "minute", "hour", "day", "week", "month", "quarter", "year")


def parse_datetime(text: str) -> datetime | None:
    """Return an ISO 8601 text as a datetime in UTC, or None; without an offset it is UTC."""
    found = _DATETIME.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in found.group(*range(1, 7)))
    fraction = int((found[7] or "").ljust(6, "0")[:6])
    try:
        local = datetime(
            year, month, day, hour, minute, second, fraction, _offset(*found.group(8, 9, 10))
        )
        return local.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def parse_date(text: str) -> date | None:
    """Return a text such as `2026-03-05` as a date, or None."""
    found = _DATE.fullmatch(text)
    try:
        return date(*map(int, found.groups())) if found else None
    except ValueError:
        return None


def format_time(moment: datetime, form: str) -> str:
    """Return the moment with every strftime letter of `form` filled in, the same everywhere."""
    if len(form) > _MAX_FORMAT:
        raise BadValue(f"the date format is too long: at most {_MAX_FORMAT} characters")
    return _LETTER.sub(lambda found: _letter(found[1])(moment), form)


def find_zone(name: Any) -> tzinfo:
    """Return the time zone of that name, such as `Europe/Berlin`; `UTC` needs no zone files."""
    if type(name) is not str:
        raise WrongKind("a time zone is a text such as 'Europe/Berlin'")
    return UTC if name == "UTC" else _load_zone(name[:_MAX_ZONE])


def read_step(duration: str) -> tuple[int, str]:
    """Return the count and the unit of a text such as `-90d`."""
    found = _DURATION.fullmatch(duration)
    if found is None:
        wanted = "a number and ms, s, m, h, d, w, mo or y"
        raise BadValue(
            f"'{duration[:40]}' is not a duration: {wanted}", said=f"must be a duration: {wanted}"
        )
    return int(found[2]) * (-1 if found[1] == "-" else 1), found[3]


def add_duration(moment: Moment, duration: str, where: tzinfo = UTC) -> Moment:
    """Return the moment moved by a text such as `-90d`; a month too short takes its last day.

    Days, weeks, months and years are those of clocks in that zone. Of a local time that is there
    twice it is the earlier one; one that is skipped moves on by what is skipped.
    """
    count, unit = read_step(duration)
    if type(moment) is date and unit in TIME_UNITS:
        raise BadValue(f"a date has no time of day: '{duration}' needs a datetime")
    try:
        if unit in TIME_UNITS or where is UTC or not isinstance(moment, datetime):
            return _move(moment, count, unit)
        local = moment.astimezone(where).replace(tzinfo=None, fold=0)
        return _move(local, count, unit).replace(tzinfo=where).astimezone(UTC)
    except (ValueError, OverflowError):
        raise BadValue(_OUT_OF_YEARS) from None


def add_seconds(moment: datetime | date, count: float) -> datetime:
    """Return the moment moved by so many seconds."""
    if not isinstance(moment, datetime):
        raise BadValue("a date has no time of day: seconds need a datetime")
    try:
        return moment + timedelta(seconds=count)
    except (ValueError, OverflowError):
        raise BadValue(_OUT_OF_YEARS) from None


def days_between(moment: datetime | date, other: datetime | date, where: tzinfo) -> int:
    """Return how many days of the calendar in that zone lie between two moments."""
    return (_day(moment, where) - _day(other, where)).days


def _day(moment: datetime | date, where: tzinfo) -> date:
    return local_time(moment, where).date() if isinstance(moment, datetime) else moment


def local_time(moment: datetime, where: tzinfo) -> datetime:
    """Return the moment as clocks in that zone show it."""
    try:
        return moment.astimezone(where)
    except OverflowError:
        raise BadValue(_OUT_OF_YEARS) from None


def start_of(moment: datetime, unit: str, where: tzinfo) -> datetime:
    """Return when the moment's day, month or the like began in that zone, as UTC.

    A week begins on Monday. A day without a midnight begins where its first hour does. An hour
    that is there twice is two hours.
    """
    if unit not in STARTS:
        raise BadValue(
            f"'{unit[:40]}' is not one of {quoted(STARTS)}",
            said=f"must be one of {quoted(STARTS)}",
        )
    try:
        local = moment.astimezone(where)
        if unit in {"second", "minute", "hour"}:
            return (moment - (_whole(local) - _truncate(_whole(local), unit))).astimezone(UTC)
        return _truncate(local, unit).astimezone(UTC)
    except (ValueError, OverflowError):
        raise BadValue(_OUT_OF_YEARS) from None


def _offset(sign: str | None, hours: str | None, minutes: str | None) -> tzinfo:
    if hours is None:
        return UTC
    if int(minutes or 0) > 59:
        raise ValueError(minutes)
    offset = timedelta(hours=int(hours), minutes=int(minutes or 0))
    return timezone(-offset if sign == "-" else offset)


def _letter(letter: str) -> Callable[[datetime], str]:
    if letter in _LETTERS:
        return _LETTERS[letter]
    raise BadValue(f"'%{letter}' is not a date letter: use one of {' '.join(_LETTERS)}")


@lru_cache(maxsize=64)
def _load_zone(name: str) -> tzinfo:
    try:
        return ZoneInfo(name)
    except (LookupError, ValueError, OSError):
        raise BadValue(
            f"'{name}' is not a time zone such as 'Europe/Berlin'",
            said="must be a time zone such as 'Europe/Berlin'",
        ) from None


def _move(moment: Moment, count: int, unit: str) -> Moment:
    if unit in _STEPS:
        return moment + count * _STEPS[unit]
    months = moment.year * 12 + moment.month - 1 + count * (12 if unit == "y" else 1)
    year, month = months // 12, months % 12 + 1
    last = calendar.monthrange(year, month)[1] if year in range(1, 10_000) else 1
    return moment.replace(year=year, month=month, day=min(moment.day, last))


def _whole(local: datetime) -> datetime:
    return local.replace(tzinfo=None, fold=0)


def _truncate(local: datetime, unit: str) -> datetime:
    if unit == "second":
        return local.replace(microsecond=0)
    if unit == "minute":
        return local.replace(second=0, microsecond=0)
    if unit == "hour":
        return local.replace(minute=0, second=0, microsecond=0)
    day = local.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    if unit == "week":
        return day - timedelta(days=day.weekday())
    if unit == "month":
        return day.replace(day=1)
    if unit == "quarter":
        return day.replace(day=1, month=(day.month - 1) // 3 * 3 + 1)
    return day.replace(day=1, month=1) if unit == "year" else day
