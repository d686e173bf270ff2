"""The times of a cron line found in another way than ours: every day, hour and minute is looked at.

Debian's cron(8): a line whose minutes and hours are fixed runs once where the clock comes twice to
a time, and at the end of a gap that swallows it. A line with `*` or `*/n` there runs whenever a
clock on the wall shows such a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

_NAMES = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_MONTHS = (
    "",
    *["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
)


def times_by_hand(line: str, zone: str, start: datetime, end: datetime) -> list[datetime]:
    """Return the times of a line in a zone, behind `start` and up to `end`, as UTC."""
    found = set[datetime]()
    minutes, hours, *_ = fields = line.split()
    is_fixed = not minutes.startswith("*") and not hours.startswith("*")
    for wall in _walls(fields, start.date() - timedelta(2), end.date() + timedelta(2)):
        found.update(_moments(wall, ZoneInfo(zone), is_fixed=is_fixed))
    return sorted(one for one in found if start < one <= end)


def _walls(fields: list[str], first: date, last: date) -> Iterator[datetime]:
    minutes, hours = _numbers(fields[0], 0, 59), _numbers(fields[1], 0, 23)
    days, months = _numbers(fields[2], 1, 31), _numbers(fields[3], 1, 12, _MONTHS)
    weekdays = {one % 7 for one in _numbers(fields[4], 0, 7, _NAMES)}
    needs_both = fields[2].startswith("*") or fields[4].startswith("*")
    day = first
    while day <= last:
        fits = day.day in days, day.isoweekday() % 7 in weekdays
        if day.month in months and (all(fits) if needs_both else any(fits)):
            for hour in sorted(hours):
                for minute in sorted(minutes):
                    yield datetime.combine(day, time(hour, minute))
        day += timedelta(1)


def _moments(wall: datetime, zone: ZoneInfo, *, is_fixed: bool) -> list[datetime]:
    """Return the moments at which a clock on the wall shows a time."""
    both = [wall.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1)]
    shown = [one for one in both if one.astimezone(zone).replace(tzinfo=None) == wall]
    if shown:
        return shown[:1] if is_fixed else shown
    return [_end_of_gap(wall, zone)] if is_fixed else []


def _end_of_gap(wall: datetime, zone: ZoneInfo) -> datetime:
    """Return the first moment behind a gap, to the minute."""
    later = wall
    while later.replace(tzinfo=zone).astimezone(UTC).astimezone(zone).replace(tzinfo=None) != later:
        later += timedelta(minutes=1)
    return later.replace(tzinfo=zone).astimezone(UTC)


def _numbers(field: str, low: int, high: int, names: tuple[str, ...] = ()) -> set[int]:
    found = set[int]()
    for part in field.split(","):
        span, _, step = part.partition("/")
        first, _, last = span.partition("-")
        if span == "*":
            begin, end = low, high
        else:
            begin = _number(first, names)
            end = _number(last, names) if last else high if step else begin
        found.update(range(begin, end + 1, int(step or 1)))
    return found


def _number(text: str, names: tuple[str, ...]) -> int:
    return int(text) if text.isdigit() else names.index(text.lower())
