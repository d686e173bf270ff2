"""Schedules of tasks."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count, islice, takewhile
from typing import Any, Final, Literal
from zoneinfo import ZoneInfo

from cronsim import CronSim

from bbops.base.json_jobs import TaskTicks, TickTime
from bbops.runtime.work.values import Tick, TickDue

MAX_MISSED: Final = 100
"""Ticks that `missed: all` makes up for; older ones are left out."""

MAX_LATE_MS: Final = 86_400_000
"""`missed: once` makes up for a tick that is younger than a day."""

_LATE_MS: Final = 60_000
"""A tick that is later than this counts as missed."""

MAX_CLOCK_CHANGE_MS: Final = 3 * 3_600_000
"""More than any clock is set forward or back at once."""

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

    def __str__(self) -> str:
        """Return the schedule as people read it."""
        if self.every_ms:
            return f"every {timedelta(milliseconds=self.every_ms)}"
        return f"at '{self.cron}' ({self.timezone})"

    def after(self, at: int) -> int:
        """Return the first time behind one, in milliseconds since 1970."""
        return at + self.every_ms if self.every_ms else self._beyond(at, 1)

    def due(self, first: int, now: int) -> tuple[tuple[int, ...], int, tuple[int, ...]]:
        """Return the ticks to run now, the next one to wait for, and those that are left out.

        Costs the same however long nothing ran.

        Args:
            first: the tick that has been waited for.
            now: the time, at or behind it.
        """
        late = [*islice(takewhile(lambda at: at >= first, self._back(first, now)), MAX_MISSED)]
        if not late:  # the schedule has changed since
            return (), self.after(now), ()
        coming = self.after(late[0] if self.every_ms else now)
        if self.missed == "all":
            return tuple(reversed(late)), coming, ()
        longest = _LATE_MS if self.missed == "skip" else MAX_LATE_MS
        runs = late[:1] if now - late[0] < longest else []
        return tuple(runs), coming, tuple(reversed(late[len(runs) :]))

    def _back(self, first: int, now: int) -> Iterator[int]:
        """Yield the times up to now, the newest first."""
        if self.every_ms:
            newest = first + (now - first) // self.every_ms * self.every_ms
            yield from count(newest, -self.every_ms)
        at = now + 1
        with suppress(StopIteration):  # none within 50 years
            while True:
                yield (at := self._beyond(at, -1))

    def _beyond(self, at: int, way: Literal[1, -1]) -> int:
        """Return the first time behind another one, or with -1 the last before it.

        Far from changes of the clock, its line runs on a clock without zones, and the time is where
        that clock says. Near one, each time of that clock is looked at, with the moments at which a
        clock of the zone shows it: cronsim's own way through them loses times of half hours, and
        does not end where a clock goes back to the middle of an hour.
        """
        offset = self._offset(at)
        near = next(self._walls(at + offset, way)) - offset
        seen = (
            at + way * MAX_CLOCK_CHANGE_MS, near - MAX_CLOCK_CHANGE_MS, near, near + MAX_CLOCK_CHANGE_MS
        )  # fmt: skip
        return near if all(self._offset(one) == offset for one in seen) else self._search(at, way)

    def _search(self, at: int, way: Literal[1, -1]) -> int:
        best: int | None = None
        start = at + self._offset(at) - way * MAX_CLOCK_CHANGE_MS
        for wall in self._walls(start, way):
            if best is not None and way * (wall - best - self._offset(best)) > MAX_CLOCK_CHANGE_MS:
                return best
            for moment in self._moments(wall):
                if way * (moment - at) > 0 and (best is None or way * (best - moment) > 0):
                    best = moment
        raise StopIteration  # as cronsim says that there is no time within 50 years

    def _walls(self, wall: int, way: Literal[1, -1]) -> Iterator[int]:
        """Yield the times of the line on a clock without zones, behind or before one."""
        start = datetime.fromtimestamp(wall / 1000, UTC).replace(tzinfo=None)
        found = CronSim(self.cron, start, reverse=way < 0)
        return (_ms(one.replace(tzinfo=UTC)) for one in found)

    def _moments(self, wall: int) -> Iterator[int]:
        """Yield when a clock of the zone shows a time: twice, once, or never."""
        found = {wall - offset for offset in self._offsets(wall)}
        moments = sorted(one for one in found if one + self._offset(one) == wall)
        if self._runs_at_all_hours:
            yield from moments
        elif moments:
            yield moments[0]
        else:
            yield self._end_of_gap(wall)

    def _end_of_gap(self, wall: int) -> int:
        """Return the moment at which the clock skips a time."""
        offsets = self._offsets(wall)
        low, high = wall - max(offsets), wall - min(offsets)  # the change is between them
        old = self._offset(low)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._offset(middle) == old else (low, middle)
        return high

    def _offsets(self, wall: int) -> tuple[int, int]:
        """Return the offsets of the zone around a time of its clock."""
        return (
            self._offset(wall - self._offset(wall) - MAX_CLOCK_CHANGE_MS),
            self._offset(wall - self._offset(wall) + MAX_CLOCK_CHANGE_MS),
        )

    @property
    def _runs_at_all_hours(self) -> bool:
        minutes, hours = self.cron.split()[:2]
        return minutes.startswith("*") or hours.startswith("*")

    def _offset(self, at: int) -> int:
        """Return how far the clock of the zone is ahead of UTC, in milliseconds."""
        moment = datetime.fromtimestamp(at / 1000, ZoneInfo(self.timezone))
        return round((moment.utcoffset() or timedelta()).total_seconds() * 1000)


def _ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)


Overlap = Literal["skip", "queue", "allow"]


@dataclass(frozen=True, slots=True)
class ScheduledTask:
    """When a task runs, up to how much later, and what if the run before has not ended."""

    schedule: Schedule
    overlap: Overlap = "skip"
    jitter_ms: int = 0


class ScheduledTasks:
    """The tasks of a release, by their work."""

    def __init__(self, tasks: Mapping[str, ScheduledTask]) -> None:
        self._tasks = tasks

    def first(self, now: int) -> list[Tick]:
        """Return when each of them runs next, if it has not run before."""
        return [
            Tick(work, one.schedule.after(now), repr(one.schedule))
            for work, one in self._tasks.items()
        ]

    def due(self, tick: Tick, now: int) -> TickDue:
        """Return when a task is to run now, and its next tick; nothing of one that is gone."""
        task = self._tasks.get(tick.task)
        if task is None:
            return TickDue()
        times, coming, missed = task.schedule.due(tick.at, now)
        delay = _delay_ms(tick, task.jitter_ms)
        return TickDue(times, coming, task.overlap, delay, missed)


def _delay_ms(tick: Tick, jitter_ms: int) -> int:
    """Return by how much a tick is late: the same on each server, another one the next time."""
    if not jitter_ms:
        return 0
    drawn = hashlib.sha256(f"{tick.task}@{tick.at}".encode()).digest()
    return int.from_bytes(drawn[:8]) % jitter_ms


MAX_TICKS: Final = 100


def read_schedule(task: Mapping[str, Any]) -> Schedule:
    """Return the schedule of a compiled task."""
    return Schedule(task["cron"], task["timezone"], task["every_ms"], task["missed"])


def list_ticks(
    task: Mapping[str, Any], count: int, now: int, waiting: Tick | None = None
) -> TaskTicks:
    """Return the next ticks of a task.

    Args:
        task: as `bbops.build.compile.schedules` compiles it.
        count: how many ticks are listed.
        now: the time in milliseconds since 1970.
        waiting: the tick that the queue waits for; one of another schedule does not count.
    """
    schedule = read_schedule(task)
    first = waiting.at if waiting and waiting.schedule == repr(schedule) else None
    times = islice(_times(schedule, now, first), count)
    return TaskTicks(
        task["name"], str(schedule), schedule.timezone, task["jitter_ms"] / 1000,
        [TickTime(at / 1000, _local(at, schedule.timezone)) for at in times],
    )  # fmt: skip


def _times(schedule: Schedule, now: int, first: int | None) -> Iterator[int]:
    if first is not None:
        yield first
    at = max(first or 0, now) if not schedule.every_ms else (first or now)
    with suppress(StopIteration):  # none within 50 years
        while True:
            yield (at := schedule.after(at))


def _local(at: int, timezone: str) -> str:
    moment = datetime.fromtimestamp(at // 1000, UTC).astimezone(ZoneInfo(timezone))
    return moment.isoformat()
