"""Freezes hold by the clocks of their zone, on the days when those change, too."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bbops_server.settings.freezes import Freeze, Frozen, Once, Weekly, find_frozen

pytestmark = pytest.mark.quick

BERLIN = "Europe/Berlin"
ALL = frozenset(range(7))
SATURDAY, SUNDAY = frozenset({5}), frozenset({6})
ZONES = st.sampled_from([BERLIN, "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "UTC"])
CLOCKS = st.times().map(lambda found: found.replace(second=0, microsecond=0))
MOMENTS = st.integers(0, 10 * 365 * 24 * 3600).map(
    lambda seconds: datetime(2020, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
)
WEEKLY = st.builds(Weekly, st.frozensets(st.integers(0, 6)), CLOCKS, CLOCKS, ZONES)
ONCE = st.tuples(MOMENTS, MOMENTS).map(lambda pair: Once(min(pair), max(pair)))


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def test_a_freeze_from_a_date_to_a_date_is_over_at_its_end() -> None:
    once = Once(at("2026-12-24T00:00:00+01:00"), at("2027-01-02T00:00:00+01:00"), "holidays")
    assert find_frozen([once], at("2026-12-23T22:59:59Z")) is None
    assert find_frozen([once], at("2026-12-23T23:00:00Z")) == Frozen(once.ends, "holidays")
    assert find_frozen([once], once.ends) is None


def test_the_evening_of_a_friday_is_that_of_its_zone() -> None:
    friday = Weekly(frozenset({4}), time(16), time(23, 59), BERLIN)
    assert friday.end_at(at("2026-11-20T14:59:59Z")) is None
    assert friday.end_at(at("2026-11-20T15:00:00Z")) == at("2026-11-20T22:59:00Z")
    assert friday.end_at(at("2026-07-17T14:00:00Z")) == at("2026-07-17T21:59:00Z")
    assert friday.end_at(at("2026-11-21T15:00:00Z")) is None


def test_a_freeze_over_midnight_belongs_to_the_day_it_begins_on() -> None:
    night = Weekly(SATURDAY, time(22), time(6), BERLIN)
    assert night.end_at(at("2026-11-22T03:00:00Z")) == at("2026-11-22T05:00:00Z")
    assert night.end_at(at("2026-11-21T03:00:00Z")) is None


def test_days_that_meet_are_one_freeze() -> None:
    days = [Weekly(frozenset({day}), time(0), time(0), BERLIN, str(day)) for day in (4, 5, 6)]
    found = find_frozen(days, at("2026-11-20T12:00:00Z"))
    assert found == Frozen(at("2026-11-22T23:00:00Z"), "4")


@pytest.mark.parametrize(
    ("day", "hours"), [("2026-03-29", 23), ("2026-10-25", 25), ("2026-11-22", 24)]
)
def test_a_whole_day_is_as_long_as_its_clocks_say(day: str, hours: int) -> None:
    whole = Weekly(SUNDAY, time(0), time(0), BERLIN)
    begin = datetime.fromisoformat(day).replace(tzinfo=ZoneInfo(BERLIN)).astimezone(UTC)
    assert whole.end_at(begin) == begin + timedelta(hours=hours)
    assert whole.end_at(begin - timedelta(seconds=1)) is None


def test_an_hour_that_is_there_twice_is_frozen_both_times() -> None:
    night = Weekly(SUNDAY, time(2), time(2, 30), BERLIN)
    assert night.end_at(at("2026-10-25T00:00:00Z")) == at("2026-10-25T01:30:00Z")


def test_a_time_that_clocks_leave_out_is_what_they_show_instead() -> None:
    ends = Weekly(SUNDAY, time(1), time(2, 30), BERLIN)
    assert ends.end_at(at("2026-03-29T00:00:00Z")) == at("2026-03-29T03:30:00+02:00")
    begins = Weekly(SUNDAY, time(2, 30), time(4), BERLIN)
    assert begins.end_at(at("2026-03-29T03:29:59+02:00")) is None
    assert begins.end_at(at("2026-03-29T03:30:00+02:00")) is not None


def test_a_freeze_without_end_is_told_of_a_year() -> None:
    found = find_frozen([Weekly(ALL, time(0), time(0), "UTC")], at("2026-01-01T00:00:00Z"))
    assert found is not None
    assert found.until == at("2027-01-02T00:00:00Z")


@given(WEEKLY, MOMENTS)
def test_a_weekly_freeze_holds_when_a_clock_on_the_wall_says_so(
    weekly: Weekly, now: datetime
) -> None:
    zone = ZoneInfo(weekly.zone)
    clock = now.astimezone(zone)
    near = (clock - timedelta(days=2), clock + timedelta(days=2))
    assume(len({one.replace(tzinfo=zone).utcoffset() for one in near}) == 1)
    yesterday = (clock.weekday() - 1) % 7
    is_over_midnight = weekly.ends <= weekly.begins
    is_today = clock.weekday() in weekly.days and weekly.begins <= clock.time()
    is_today &= is_over_midnight or clock.time() < weekly.ends
    is_still = is_over_midnight and yesterday in weekly.days and clock.time() < weekly.ends
    assert (weekly.end_at(now) is not None) == (is_today or is_still)


@given(st.lists(WEEKLY | ONCE, max_size=4), MOMENTS, st.floats(0, 1))
def test_publications_are_frozen_until_the_end_and_not_after(
    freezes: list[Freeze], now: datetime, share: float
) -> None:
    found = find_frozen(freezes, now)
    if found is None:
        assert all(one.end_at(now) is None for one in freezes)
        return
    assert found.until > now
    between = now + share * (found.until - now)
    assert between == found.until or find_frozen(freezes, between) is not None
    if found.until - now < timedelta(days=366):
        assert find_frozen(freezes, found.until) is None
