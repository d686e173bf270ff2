"""When a task runs next, through changes of the clock and times at which nothing ran."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count, dropwhile, islice, takewhile
from typing import Final, Literal
from zoneinfo import ZoneInfo

from cronsim import CronSim

MOST_MISSED: Final = 100
"""Ticks that `missed: all` makes up for; older ones are left out."""

LATEST_MS: Final = 86_400_000
"""`missed: once` makes up for a tick that is younger than a day."""

_LATE_MS: Final = 60_000
"""A tick that is later than this counts as missed."""

_HOUR: Final = timedelta(hours=1)
_NONE: Final = timedelta()
_LONGEST_FOLD_MS: Final = 3 * 3_600_000
"""Longer than any clock is set back at once."""

Missed = Literal["once", "skip", "all"]


@dataclass(frozen=True, slots=True)
class Schedule:
    """The times of a task: those of a cron line in a time zone, or one each so often.

    A time that a change of the clock leaves out runs at its end, one that comes twice runs once;
    hours of `*` and `*/n` run in both. Source: Debian's cron(8), as cronsim follows it.
    """

    cron: str = ""
    timezone: str = "UTC"
    every_ms: int = 0
    missed: Missed = "once"

    def after(self, at: int) -> int:
        """Return the first time behind one, in milliseconds since 1970."""
        if self.every_ms:
            return at + self.every_ms
        start = self._local(at)
        onward = CronSim(self.cron, start)  # it does not tell hours apart that come twice
        found = next(one for one in onward if _ms(one) > at)
        return min(self._passed_over(start, found), default=_ms(found))

    def _passed_over(self, start: datetime, found: datetime) -> Iterator[int]:
        """Yield what cronsim passes over on its way on, and not on its way back.

        It goes by whole hours, so it loses times where a clock is set back by half of one, as on
        Lord Howe Island.
        """
        if ((found.utcoffset() or _NONE) - (start.utcoffset() or _NONE)) % _HOUR:
            at = _ms(start)
            yield from takewhile(lambda one: one > at, self._back(at, _ms(found) - 1))

    def due(self, first: int, now: int) -> tuple[tuple[int, ...], int, tuple[int, ...]]:
        """Return the ticks to run now, the next one to wait for, and those that are left out.

        Costs the same however long nothing ran.

        Args:
            first: the tick that has been waited for.
            now: the time, at or behind it.
        """
        late = [*islice(takewhile(lambda at: at >= first, self._back(first, now)), MOST_MISSED)]
        if not late:  # the schedule has changed since
            return (), self.after(now), ()
        coming = self.after(late[0] if self.every_ms else now)
        if self.missed == "all":
            return tuple(reversed(late)), coming, ()
        longest = _LATE_MS if self.missed == "skip" else LATEST_MS
        runs = late[:1] if now - late[0] < longest else []
        return tuple(runs), coming, tuple(reversed(late[len(runs) :]))

    def _back(self, first: int, now: int) -> Iterator[int]:
        """Yield the times up to now, the newest first."""
        if self.every_ms:
            newest = first + (now - first) // self.every_ms * self.every_ms
            yield from count(newest, -self.every_ms)
        start = self._local(now + 1)
        if start.fold:  # times of the hour before, which has the same name, lie ahead by the clock
            start = self._local(now + 1 + _LONGEST_FOLD_MS)
        back = map(_ms, CronSim(self.cron, start, reverse=True))
        yield from dropwhile(lambda at: at > now, back)

    def _local(self, at: int) -> datetime:
        return datetime.fromtimestamp(at / 1000, UTC).astimezone(ZoneInfo(self.timezone))


def _ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)
