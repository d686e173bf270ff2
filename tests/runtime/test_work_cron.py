"""Forty cron lines in six zones: their ticks are those that were found in another way before."""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from bbops.runtime.work.engine import Engine
from bbops.runtime.work.schedules import Schedule, ScheduledTask, ScheduledTasks
from bbops.runtime.work.values import format_time
from tests.support.cron_by_hand import times_by_hand
from tests.support.work_bench import Bench, Work, bench, place

__all__ = ["bench", "place"]

LINES = (
    "0 * * * *", "*/30 * * * *", "15,45 * * * *", "7 */2 * * *", "0 1-23/2 * * *", "0 0 * * *",
    "30 0 * * *", "59 0 * * *", "0 1 * * *", "30 1 * * *", "0 2 * * *", "15 2 * * *",
    "30 2 * * *", "45 2 * * *", "0,30 2 * * *", "*/20 2 * * *", "0 3 * * *", "30 3 * * *",
    "0 1,2,3 * * *", "10-50/20 1-3 * * *", "59 23 * * *", "0 12 * * 1-5", "0 2 * * 0",
    "30 2 * * sun", "0 8 * * mon,wed,fri", "0 0 1 * *", "30 2 1 * *", "0 0 31 * *",
    "0 0 29 2 *", "0 0 28-31 * *", "0 0 13 * 5", "0 0 1,15 * 1", "30 2 25-31 3,10 0",
    "0 0 1 1 *", "0 6 * jan-mar *", "30 4 1 */3 *", "0 0 * * 7", "5 4 * 2-4,10 6",
    "0 22 * * 1-5", "23 0-20/2 * * *",
)  # fmt: skip
ZONES = (
    "UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca",
    "America/Santiago",
)  # fmt: skip
START = datetime(2026, 1, 1, tzinfo=UTC)
END = datetime(2028, 1, 1, tzinfo=UTC)
MINUTE, HOUR = 60_000, 3_600_000
CHANGES = tuple(
    datetime(*day, tzinfo=UTC)
    for day in ((2026, 2, 15), (2026, 3, 8), (2026, 3, 22), (2026, 3, 29), (2026, 4, 5),
                (2026, 9, 6), (2026, 10, 4), (2026, 10, 25), (2026, 11, 1))
)  # fmt: skip
"""Days on which the clock changes in some of the zones."""


def ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)


def ticks(line: str, zone: str, start: datetime, end: datetime) -> Iterator[int]:
    """Yield the ticks of a task that runs whenever it is to run."""
    schedule, at = Schedule(line, zone), ms(start)
    while (at := schedule.after(at)) <= ms(end):
        yield at


@pytest.mark.parametrize("zone", ZONES)
def test_ticks_around_changes_of_the_clock_are_those_found_by_hand(zone: str) -> None:
    for line in LINES:
        for change in CHANGES:
            start, end = change - timedelta(days=1), change + timedelta(days=2)
            wanted = [*map(ms, times_by_hand(line, zone, start, end))]
            assert [*ticks(line, zone, start, end)] == wanted, (line, change)


@pytest.mark.long
@pytest.mark.parametrize("zone", ZONES)
def test_ticks_of_two_years_are_those_found_by_hand(zone: str) -> None:
    for line in LINES:
        wanted = [*map(ms, times_by_hand(line, zone, START, END))]
        assert [*ticks(line, zone, START, END)] == wanted, line


@pytest.mark.long
@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/Santiago", "Australia/Lord_Howe"])
@pytest.mark.parametrize("line", ["10-50/20 1-3 * * *", "30 2 * * *", "*/20 2 * * *", "0 * * * *"])
def test_whenever_a_server_comes_back_it_makes_up_for_the_times_found_by_hand(
    zone: str, line: str
) -> None:
    schedule = Schedule(line, zone, missed="all")
    for change in CHANGES:
        start = change - timedelta(hours=12)
        wanted = [*map(ms, times_by_hand(line, zone, start, start + timedelta(days=4)))]
        for now in range(wanted[0], wanted[0] + 36 * HOUR, 19 * MINUTE):
            past = bisect_right(wanted, now)
            times, coming, _ = schedule.due(wanted[0], now)
            assert ([*times], coming) == (wanted[:past], wanted[past]), (change, now)


# ---- through the engine, with a clock that does what clocks do
TASKED = ("0 * * * *", "*/30 * * * *", "30 2 * * *", "0 1,2,3 * * *", "10-50/20 1-3 * * *")


@dataclass(frozen=True)
class Times:
    """Tasks in a zone, and the names of the jobs that their ticks make, found by hand."""

    zone: str

    @property
    def tasks(self) -> ScheduledTasks:
        return ScheduledTasks({
            f"tasks/{at}": ScheduledTask(Schedule(line, self.zone, missed="all"), overlap="allow")
            for at, line in enumerate(TASKED)
        })  # fmt: skip

    def jobs(self, start: int, end: int) -> list[str]:
        moments = datetime.fromtimestamp(start / 1000, UTC), datetime.fromtimestamp(end / 1000, UTC)
        return sorted(
            f"tasks/{at}@{format_time(ms(one))}"
            for at, line in enumerate(TASKED)
            for one in times_by_hand(line, self.zone, *moments)
        )


async def run(engines: list[Engine], tasks: ScheduledTasks) -> None:
    """Let every server tick at the same time, and end all jobs, so that none hides another."""
    await asyncio.gather(*(one.tick(tasks.due) for one in engines))
    while claimed := await engines[0].claim(50):
        await asyncio.gather(*(engines[0].end(one) for one in claimed))


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/Santiago"])
@pytest.mark.parametrize(("day", "month"), [(28, 3), (24, 10), (5, 9), (4, 4)])
def test_each_tick_comes_once_though_clocks_jump_and_servers_are_down(
    bench: Callable[[Work], None], zone: str, day: int, month: int
) -> None:
    async def work(on: Bench) -> None:
        times = Times(zone)
        begin = on.at = ms(datetime(2026, month, day, 0, 5, tzinfo=UTC))
        servers, last = [on.worker("one"), on.worker("two")], begin
        for one in servers:
            await one.set_ticks(times.tasks.first(on.at))
        for at in range(40):
            on.at += {8: -HOUR, 13: -2 * HOUR, 17: 2 * HOUR, 25: 3 * HOUR}.get(at, 53 * MINUTE)
            last = max(last, on.at)
            await run(servers[: 1 + at % 2], times.tasks)
        kept = await on.database.read("SELECT uid FROM _bbops_job_log ORDER BY uid")
        assert [uid for (uid,) in kept] == times.jobs(begin, last)

    bench(work)


def test_a_server_that_was_down_for_three_hours_does_what_missed_says(
    bench: Callable[[Work], None],
) -> None:
    async def work(on: Bench) -> None:
        on.at = ms(datetime(2026, 10, 24, 23, 30, tzinfo=UTC))
        tasks = ScheduledTasks({
            f"tasks/{missed}": ScheduledTask(
                Schedule("0 * * * *", "Europe/Berlin", missed=missed), "allow"  # type: ignore[arg-type]
            )
            for missed in ("once", "skip", "all")
        })  # fmt: skip
        await on.engine.set_ticks(tasks.first(on.at))
        on.at += 3 * HOUR
        await run([on.engine], tasks)
        on.at += 30 * MINUTE + 500
        await run([on.engine], tasks)
        kept = [uid for (uid,) in await on.database.read("SELECT uid FROM _bbops_job_log")]
        made = {name: sum(name in uid for uid in kept) for name in ("once", "skip", "all")}
        assert made == {"once": 2, "skip": 1, "all": 4}

    bench(work)
