"""Freezes: times in which nothing new goes live. Pure; the time is an argument."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

_DAY: Final = timedelta(days=1)
LONGEST: Final = timedelta(days=366)
"""The latest end that is shown: freezes that meet may never end."""


@dataclass(frozen=True, slots=True)
class Once:
    """A freeze from one moment to another, both aware; at its end it is over."""

    begins: datetime
    ends: datetime
    reason: str = ""

    def end_at(self, now: datetime) -> datetime | None:
        """Return the end of a freeze that holds now, else None."""
        return self.ends if self.begins <= now < self.ends else None


@dataclass(frozen=True, slots=True)
class Weekly:
    """A freeze on days of the week, by the clocks of a zone.

    Attributes:
        days: on which it begins, Monday is 0.
        ends: on the next day, when it is not after `begins`.
        zone: a name of the tz database.
    """

    days: frozenset[int]
    begins: time
    ends: time
    zone: str
    reason: str = ""

    def end_at(self, now: datetime) -> datetime | None:
        """Return the end of a freeze that holds now, else None."""
        today = now.astimezone(ZoneInfo(self.zone)).date()
        spans = (self._span(day) for day in (today - _DAY, today) if day.weekday() in self.days)
        return max((end for begin, end in spans if begin <= now < end), default=None)

    def _span(self, day: date) -> tuple[datetime, datetime]:
        """Return the freeze that begins on a day.

        A time that clocks show twice is the first at the begin and the second at the end; a time
        that they leave out is the time that they show instead.
        """
        zone, last = ZoneInfo(self.zone), day if self.ends > self.begins else day + _DAY
        begin = datetime.combine(day, self.begins, zone)
        end = datetime.combine(last, self.ends.replace(fold=1), zone)
        if _is_left_out(end):
            end = end.replace(fold=0)
        return begin.astimezone(UTC), end.astimezone(UTC)


Freeze = Once | Weekly


@dataclass(frozen=True, slots=True)
class Frozen:
    """The end of the current freeze, and its reason."""

    until: datetime
    reason: str


def find_frozen(freezes: Sequence[Freeze], now: datetime) -> Frozen | None:
    """Return the current freeze; freezes that meet are one. None without one."""
    ends = list(_follow(freezes, now))
    return Frozen(ends[-1][0], ends[0][1]) if ends else None


def _follow(freezes: Sequence[Freeze], now: datetime) -> Iterator[tuple[datetime, str]]:
    at = now
    while at - now < LONGEST:
        found = [(end, one.reason) for one in freezes if (end := one.end_at(at)) is not None]
        if not found:
            return
        yield max(found)
        at = max(found)[0]


def _is_left_out(moment: datetime) -> bool:
    """Return whether clocks never show it."""
    return moment.astimezone(UTC).astimezone(moment.tzinfo) != moment
