"""Schedules of tasks: their times on clocks of time zones, and their missed ticks."""

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

from bbops.base.json_work import TaskTicks, TickTime
from bbops.runtime.work.values import Tick, TickDue

MAX_MISSED: Final = 100
"""The most missed ticks that `missed: all` runs; older ticks are dropped."""

MAX_LATE_MS: Final = 86_400_000
"""`missed: once` runs a missed tick that is less than a day old."""

_LATE_MS: Final = 60_000
"""A tick counts as missed after this delay."""

MAX_CLOCK_CHANGE_MS: Final = 3 * 3_600_000
"""More than any change of a time zone's offset."""

Missed = Literal["once", "skip", "all"]


@dataclass(frozen=True, slots=True)
class Schedule:
    """The times of a task: a cron line in a time zone, or an interval.

    When the clock changes, a skipped time runs at the end of the gap, and a repeated time runs
    once; lines with `*` or `*/n` as hours run in both hours. Source: Debian's cron(8), as cronsim
    implements it. The `repr` of a schedule is stored with its tick.
    """

    cron: str = ""
    timezone: str = "UTC"
    every_ms: int = 0
    missed: Missed = "once"

    def __str__(self) -> str:
        """Return a description of the schedule."""
        if self.every_ms:
            return f"every {timedelta(milliseconds=self.every_ms)}"
        return f"at '{self.cron}' ({self.timezone})"

    def after(self, at: int) -> int:
        """Return the first time after `at`, in milliseconds since 1970."""
        return at + self.every_ms if self.every_ms else self._adjacent(at, 1)

    def due(self, first: int, now: int) -> tuple[tuple[int, ...], int, tuple[int, ...]]:
        """Return the ticks to run now, the next tick, and the dropped ticks.

        The cost does not depend on the length of a downtime.

        Args:
            first: the tick that was next.
            now: the current time, not before `first`.
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
        """Yield the times up to now, newest first."""
        if self.every_ms:
            newest = first + (now - first) // self.every_ms * self.every_ms
            yield from count(newest, -self.every_ms)
        at = now + 1
        with suppress(StopIteration):  # none within 50 years
            while True:
                yield (at := self._adjacent(at, -1))

    def _adjacent(self, at: int, direction: Literal[1, -1]) -> int:
        """Return the first time after `at`, or for -1 the last time before it.

        Far from clock changes, the time is computed on a clock without a zone, with a constant
        offset. Near a change, all wall-clock times around it are mapped to moments: cronsim itself
        loses times at half hours there, and loops forever if a clock goes back to the middle of an
        hour.
        """
        offset = self._offset(at)
        near = next(self._wall_times(at + offset, direction)) - offset
        samples = (
            at + direction * MAX_CLOCK_CHANGE_MS,
            near - MAX_CLOCK_CHANGE_MS, near, near + MAX_CLOCK_CHANGE_MS,
        )  # fmt: skip
        is_constant = all(self._offset(moment) == offset for moment in samples)
        return near if is_constant else self._search(at, direction)

    def _search(self, at: int, direction: Literal[1, -1]) -> int:
        best: int | None = None
        start = at + self._offset(at) - direction * MAX_CLOCK_CHANGE_MS
        for wall in self._wall_times(start, direction):
            if best is not None:
                distance = direction * (wall - best - self._offset(best))
                if distance > MAX_CLOCK_CHANGE_MS:
                    return best
            for moment in self._moments(wall):
                is_closer = best is None or direction * (best - moment) > 0
                if direction * (moment - at) > 0 and is_closer:
                    best = moment
        raise StopIteration  # as cronsim, if there is no time within 50 years

    def _wall_times(self, wall: int, direction: Literal[1, -1]) -> Iterator[int]:
        """Yield the times of the cron line after or before `wall`, on a clock without a zone."""
        start = datetime.fromtimestamp(wall / 1000, UTC).replace(tzinfo=None)
        times = CronSim(self.cron, start, reverse=direction < 0)
        return (_ms(time.replace(tzinfo=UTC)) for time in times)

    def _moments(self, wall: int) -> Iterator[int]:
        """Yield the moments at which the zone's clock shows a time: none, one or two."""
        candidates = {wall - offset for offset in self._offsets(wall)}
        moments = sorted(
            moment for moment in candidates if moment + self._offset(moment) == wall
        )  # fmt: skip
        if self._runs_at_all_hours:
            yield from moments
        elif moments:
            yield moments[0]
        else:
            yield self._end_of_gap(wall)

    def _end_of_gap(self, wall: int) -> int:
        """Return the moment of the clock change that skips a time."""
        offsets = self._offsets(wall)
        low, high = wall - max(offsets), wall - min(offsets)  # the change is between them
        old = self._offset(low)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._offset(middle) == old else (low, middle)
        return high

    def _offsets(self, wall: int) -> tuple[int, int]:
        """Return the zone's offsets before and after a time of its clock."""
        return (
            self._offset(wall - self._offset(wall) - MAX_CLOCK_CHANGE_MS),
            self._offset(wall - self._offset(wall) + MAX_CLOCK_CHANGE_MS),
        )

    @property
    def _runs_at_all_hours(self) -> bool:
        minutes, hours = self.cron.split()[:2]
        return minutes.startswith("*") or hours.startswith("*")

    def _offset(self, at: int) -> int:
        """Return the zone's offset from UTC in milliseconds."""
        moment = datetime.fromtimestamp(at / 1000, ZoneInfo(self.timezone))
        return round((moment.utcoffset() or timedelta()).total_seconds() * 1000)


def _ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)


Overlap = Literal["skip", "queue", "allow"]


@dataclass(frozen=True, slots=True)
class ScheduledTask:
    """A task's schedule, its jitter, and its policy for overlapping runs."""

    schedule: Schedule
    overlap: Overlap = "skip"
    jitter_ms: int = 0


class ScheduledTasks:
    """The tasks of a release, by name."""

    def __init__(self, tasks: Mapping[str, ScheduledTask]) -> None:
        self._tasks = tasks

    def first(self, now: int) -> list[Tick]:
        """Return the first tick of each task that has not run before."""
        return [
            Tick(name, task.schedule.after(now), repr(task.schedule))
            for name, task in self._tasks.items()
        ]

    def due(self, tick: Tick, now: int) -> TickDue:
        """Return the runs of a due tick and the next tick; neither for a removed task."""
        task = self._tasks.get(tick.task)
        if task is None:
            return TickDue()
        times, coming, missed = task.schedule.due(tick.at, now)
        delay = _delay_ms(tick, task.jitter_ms)
        return TickDue(times, coming, task.overlap, delay, missed)


def _delay_ms(tick: Tick, jitter_ms: int) -> int:
    """Return the delay of a tick: equal on each server, different for each tick."""
    if not jitter_ms:
        return 0
    digest = hashlib.sha256(f"{tick.task}@{tick.at}".encode()).digest()
    return int.from_bytes(digest[:8]) % jitter_ms


MAX_TICKS: Final = 100


def read_schedule(task: Mapping[str, Any]) -> Schedule:
    """Return the schedule of a compiled task."""
    return Schedule(task["cron"], task["timezone"], task["every_ms"], task["missed"])


def list_ticks(
    task: Mapping[str, Any], count: int, now: int, waiting: Tick | None = None
) -> TaskTicks:
    """Return the next ticks of a task.

    Args:
        task: the task, compiled by `bbops.compiler.compile.work`.
        count: the number of ticks.
        now: the time in milliseconds since 1970.
        waiting: the next tick in the queue; ignored if its schedule differs.
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
