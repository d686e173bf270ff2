"""Tasks run at the times that people mean, also where clocks change and servers were off."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim
from hypothesis import given
from hypothesis import strategies as st

from bbops.runtime.work.schedules import MAX_MISSED, Schedule
from bbops.runtime.work.values import JITTER, RetryPolicy

BERLIN = ZoneInfo("Europe/Berlin")


def ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)


def shown(schedule: Schedule, start: datetime, count: int) -> list[str]:
    at, found = ms(start), []
    for _ in range(count):
        following = schedule.after(at)
        at = following
        local = datetime.fromtimestamp(at / 1000, UTC).astimezone(ZoneInfo(schedule.timezone))
        found.append(f"{local:%d. %H:%M %z}")
    return found


@pytest.mark.parametrize(("cron", "start", "times"), [
    ("30 2 * * *", datetime(2027, 3, 27, tzinfo=BERLIN),
     ["27. 02:30 +0100", "28. 03:00 +0200", "29. 02:30 +0200"]),
    ("30 2 * * *", datetime(2026, 10, 24, tzinfo=BERLIN),
     ["24. 02:30 +0200", "25. 02:30 +0200", "26. 02:30 +0100"]),
    ("0 * * * *", datetime(2026, 10, 25, 1, 30, tzinfo=BERLIN),
     ["25. 02:00 +0200", "25. 02:00 +0100", "25. 03:00 +0100"]),
    ("*/30 * * * *", datetime(2027, 3, 28, 1, 0, tzinfo=BERLIN),
     ["28. 01:30 +0100", "28. 03:00 +0200", "28. 03:30 +0200"]),
])  # fmt: skip
def test_a_change_of_the_clock_neither_loses_nor_doubles_a_time(
    cron: str, start: datetime, times: list[str]
) -> None:
    assert shown(Schedule(cron, "Europe/Berlin"), start, len(times)) == times


NOON = ms(datetime(2026, 5, 4, 12, tzinfo=UTC))
HOUR = 3_600_000


@pytest.mark.parametrize(("missed", "off_hours", "ran"), [
    ("once", 0, 1), ("once", 5, 1), ("skip", 0, 1), ("all", 5, 6), ("all", 500, MAX_MISSED),
])  # fmt: skip
def test_what_was_missed_is_made_up_for_as_wanted(missed: str, off_hours: int, ran: int) -> None:
    schedule = Schedule("0 * * * *", missed=missed)  # type: ignore[arg-type]
    now = NOON + off_hours * HOUR + 1000
    ticks, coming, _ = schedule.due(NOON, now)
    assert len(ticks) == ran
    assert ticks[-1] == NOON + off_hours * HOUR
    assert coming == NOON + (off_hours + 1) * HOUR


def test_a_tick_that_is_late_is_skipped_where_that_is_wanted() -> None:
    daily = Schedule("0 12 * * *", missed="skip")
    assert daily.due(NOON, NOON + HOUR) == ((), NOON + 24 * HOUR, (NOON,))
    old = Schedule("0 12 1 * *")
    first = NOON - 3 * 24 * HOUR
    assert old.due(first, first + 25 * HOUR)[0] == ()


def test_a_schedule_that_has_changed_counts_from_now() -> None:
    monthly = Schedule("0 12 1 * *")
    assert monthly.due(NOON, NOON + HOUR) == ((), NOON + 28 * 24 * HOUR, ())


def test_so_often_counts_from_the_last_time() -> None:
    schedule = Schedule(every_ms=10_000)
    assert schedule.due(NOON, NOON) == ((NOON,), NOON + 10_000, ())
    last, missed = NOON + 20_000, (NOON, NOON + 10_000)
    assert schedule.due(NOON, NOON + 25_000) == ((last,), NOON + 30_000, missed)


CHANGES = (
    ("Australia/Lord_Howe", "2026-04-04T15:00Z"), ("Australia/Lord_Howe", "2026-10-03T15:30Z"),
    ("Europe/Berlin", "2026-03-29T01:00Z"), ("Europe/Berlin", "2026-10-25T01:00Z"),
    ("America/St_Johns", "2006-04-02T03:31Z"), ("America/St_Johns", "2006-10-29T02:31Z"),
    ("Antarctica/Troll", "2026-03-29T01:00Z"), ("Antarctica/Troll", "2026-10-25T01:00Z"),
    ("Asia/Pyongyang", "2015-08-14T15:00Z"), ("Asia/Pyongyang", "2018-05-04T15:00Z"),
    ("America/Caracas", "2007-12-09T07:00Z"), ("America/Caracas", "2016-05-01T07:00Z"),
)  # fmt: skip
"""By half hours, by two hours, around midnight, and back to the middle of an hour."""

MINUTE = 60_000
LINES = (
    "* * * * *", "*/30 * * * *", "15 * * * *", "45 */2 * * *", "*/7 1,23 * * *", "15 2 * * *",
    "30 1,2 * * *", "45 23 * * *", "0 0 * * *", "10,40 0-3 * * *", "0 12 1 * *",
)  # fmt: skip


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize(
    ("zone", "change"),
    [
        *CHANGES[1:4],
        *(pytest.param(*each, marks=pytest.mark.long) for each in CHANGES[:1] + CHANGES[4:]),
    ],
)
def test_every_time_around_a_change_of_the_clock_is_found_once(
    zone: str, change: str, line: str
) -> None:
    at_change = ms(datetime.fromisoformat(change))
    first, last = at_change - 9 * HOUR, at_change + 9 * HOUR
    expected = times_by_minutes(line, zone, first, last)
    schedule, onward, at = Schedule(line, zone, missed="all"), [], first
    while (at := schedule.after(at)) <= last:
        onward.append(at)
    assert onward == expected
    if expected:
        ticks, _, _ = schedule.due(expected[0], last)
        assert list(ticks) == expected[-MAX_MISSED:]


def times_by_minutes(line: str, zone: str, first: int, last: int) -> list[int]:
    """Return the times of a line by looking at every minute of the clock of a zone."""
    start = datetime.fromtimestamp(first / 1000, UTC).replace(tzinfo=None) - timedelta(days=1)
    wanted = {wall.replace(tzinfo=UTC) for wall in islice(CronSim(line, start), 10_000)}
    minutes = [
        (at, datetime.fromtimestamp(at / 1000, ZoneInfo(zone)).replace(tzinfo=UTC, fold=0))
        for at in range(first - 24 * HOUR, last + MINUTE, MINUTE)
    ]
    if line.startswith("*") or line.split()[1].startswith("*"):
        return [at for at, wall in minutes if wall in wanted and first < at <= last]
    found, seen = list[int](), minutes[0][1]
    for at, wall in minutes:
        if wall > seen:  # a time that comes twice counts once, one that is skipped at its end
            passed = (
                seen + timedelta(minutes=one) for one in range(1, (wall - seen) // MINUTES + 1)
            )
            found += [at] if wanted.intersection(passed) else []
            seen = wall
    return [at for at in found if first < at <= last]


MINUTES = timedelta(minutes=1)
CRONS = ("*/7 * * * *", "15 2 * * *", "0 3 * * 1-5", "59 23 28-31 * *", "30 1 * * *")
ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Antarctica/Troll", "UTC")
YEARS = st.integers(NOON, NOON + 2 * 365 * 24 * HOUR)


@given(YEARS, st.sampled_from(CRONS), st.sampled_from(ZONES))
def test_times_only_go_on(at: int, cron: str, zone: str) -> None:
    schedule = Schedule(cron, zone)
    for _ in range(20):
        following = schedule.after(at)
        assert at < following <= at + 70 * 24 * HOUR
        at = following


@given(YEARS, st.integers(0, 40 * 24), st.sampled_from(CRONS), st.sampled_from(ZONES))
def test_going_back_finds_the_times_that_going_on_does(
    at: int, hours: int, cron: str, zone: str
) -> None:
    schedule = Schedule(cron, zone, missed="all")
    first = schedule.after(at)
    now = first + hours * HOUR
    onward = [first]
    while (following := schedule.after(onward[-1])) <= now:
        onward.append(following)
    assert schedule.due(first, now) == (tuple(onward[-MAX_MISSED:]), following, ())


@given(st.integers(1, 200), st.floats(0, 1))
def test_pauses_grow_up_to_the_longest_and_end(attempt: int, chance: float) -> None:
    retry = RetryPolicy(attempts=100, first_seconds=5, factor=3, longest_seconds=3600)
    pause = retry.pause_ms(attempt, chance)
    if attempt >= 100:
        assert pause is None
        return
    whole = min(5000 * 3 ** (attempt - 1), 3_600_000)
    assert pause is not None
    assert (1 - JITTER) * whole - 1 <= pause <= (1 + JITTER) * whole + 1
