"""The next ticks of a task, in its time zone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Final
from zoneinfo import ZoneInfo

from bbops.base.json_jobs import TaskTicks, TickTime
from bbops.runtime.work.schedules import Schedule
from bbops.runtime.work.values import Tick

MOST_TICKS: Final = 100


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
