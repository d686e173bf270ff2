"""Filters over datetimes and dates: texts, calendars and zones."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbops.runtime.values.failures import FlowError
from tests.support.filter_examples import NOON, apply


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-03-05", "2026-03-05T00:00:00Z"),
        ("2026-03-05T10:00", "2026-03-05T10:00:00Z"),
        ("2026-03-05 10:00:00.5+02:00", "2026-03-05T08:00:00.500000Z"),
        ("2026-03-05t10:00:00.123456789z", "2026-03-05T10:00:00.123456Z"),
        ("2026-03-05T10:00:00-0330", "2026-03-05T13:30:00Z"),
    ],
)
def test_iso_texts_become_utc(text: str, expected: str) -> None:
    assert apply("toString", apply("toDatetime", text)) == expected


@pytest.mark.parametrize(
    "text",
    ["", "tomorrow", "2026-02-30", "2026-3-5", "20260305", "2026-03-05T24:00",
     "2026-03-05T10:00:60", "2026-03-05T10", "2026-03-05T10:00+25:00", "2026-03-05T10:00+01:60",
     "0001-01-01T00:00+14:00",
     "2026-03-05T10:00Z ", "\u0662026-03-05", "1772712000"],
)  # fmt: skip
def test_other_texts_are_no_datetime(text: str) -> None:
    assert apply("toDatetime", text) is None


@given(st.datetimes(timezones=st.just(UTC)))
def test_a_datetime_survives_its_text(moment: datetime) -> None:
    assert apply("toDatetime", apply("toString", moment)) == moment


@given(st.datetimes(timezones=st.just(UTC)).filter(lambda moment: moment.year >= 1000))
def test_date_letters_mean_what_they_mean_in_c(moment: datetime) -> None:
    form = "%a %A %b %B %d %f %F %H %I %j %m %M %p %S %T %u %V %G %w %y %Y %z %Z %%"
    assert apply("date", moment, form) == moment.strftime(form)


@pytest.mark.parametrize("form", ["%c", "%-d", "%Q", "100%", "%é"])
def test_letters_that_differ_between_systems_are_refused(form: str) -> None:
    with pytest.raises(FlowError, match="is not a date letter"):
        apply("date", NOON, form)


@pytest.mark.parametrize("zone", ["Mars/Base", "", "../etc/passwd", "/etc/passwd", "x" * 5_000])
def test_an_unknown_zone_is_refused(zone: str) -> None:
    with pytest.raises(FlowError, match="is not a time zone"):
        apply("date", NOON, "%H", zone)


def test_text_is_no_date_until_it_is_made_one() -> None:
    with pytest.raises(FlowError, match=r"add '\| toDatetime' in front"):
        apply("date", "2026-03-05", "%Y")


@pytest.mark.parametrize(
    ("duration", "expected"),
    [
        ("-90d", "2025-12-05T12:00:00Z"),
        ("1500ms", "2026-03-05T12:00:01.500000Z"),
        ("+2w", "2026-03-19T12:00:00Z"),
        ("10mo", "2027-01-05T12:00:00Z"),
        ("-3mo", "2025-12-05T12:00:00Z"),
        ("1y", "2027-03-05T12:00:00Z"),
    ],
)
def test_durations_move_a_moment(duration: str, expected: str) -> None:
    assert apply("toString", apply("add", NOON, duration)) == expected


def test_a_leap_day_moves_to_the_last_of_february() -> None:
    leap = datetime(2024, 2, 29, tzinfo=UTC)
    assert apply("add", leap, "1y") == datetime(2025, 2, 28, tzinfo=UTC)
    assert apply("add", leap, "4y") == datetime(2028, 2, 29, tzinfo=UTC)


@pytest.mark.parametrize("duration", ["", "5", "d", "1 d", "1.5h", "1d12h", "1mon", "--1d"])
def test_other_texts_are_no_duration(duration: str) -> None:
    with pytest.raises(FlowError, match="is not a duration"):
        apply("add", NOON, duration)


@pytest.mark.parametrize("duration", ["9000y", "-3000y", "999999999w", "-999999999mo"])
def test_time_ends_with_the_calendar(duration: str) -> None:
    with pytest.raises(FlowError, match="between the years 1 and 9999"):
        apply("add", NOON, duration)


def test_dates_move_by_days_and_stay_dates() -> None:
    assert apply("add", date(2026, 3, 5), "-5d") == date(2026, 2, 28)
    assert apply("startOf", date(2026, 3, 5), "month") == date(2026, 3, 1)
    with pytest.raises(FlowError, match="a date has no time of day"):
        apply("add", date(2026, 3, 5), "1h")


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        ("second", "2026-08-13T21:45:10Z"),
        ("minute", "2026-08-13T21:45:00Z"),
        ("hour", "2026-08-13T21:00:00Z"),
        ("day", "2026-08-13T00:00:00Z"),
        ("week", "2026-08-10T00:00:00Z"),
        ("month", "2026-08-01T00:00:00Z"),
        ("quarter", "2026-07-01T00:00:00Z"),
        ("year", "2026-01-01T00:00:00Z"),
    ],
)
def test_each_unit_has_its_start(unit: str, expected: str) -> None:
    moment = datetime(2026, 8, 13, 21, 45, 10, 5, tzinfo=UTC)
    assert apply("toString", apply("startOf", moment, unit)) == expected


@pytest.mark.parametrize(
    ("moment", "zone", "expected"),
    [
        ("2026-03-05T23:30:00Z", "Europe/Berlin", "2026-03-05T23:00:00Z"),
        ("2026-03-29T12:00:00Z", "Europe/Berlin", "2026-03-28T23:00:00Z"),
        ("2026-10-25T12:00:00Z", "Europe/Berlin", "2026-10-24T22:00:00Z"),
        # No midnight on this day: clocks went from 23:59 to 01:00.
        ("2018-11-04T12:00:00Z", "America/Sao_Paulo", "2018-11-04T03:00:00Z"),
    ],
)
def test_a_day_starts_at_midnight_of_its_zone(moment: str, zone: str, expected: str) -> None:
    start = apply("startOf", apply("toDatetime", moment), "day", zone)
    assert apply("toString", start) == expected


def test_an_hour_that_comes_twice_starts_twice() -> None:
    first = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    second = datetime(2026, 10, 25, 1, 30, tzinfo=UTC)
    starts = [apply("startOf", moment, "hour", "Europe/Berlin") for moment in (first, second)]
    assert [start.hour for start in starts] == [0, 1]


def test_an_unknown_unit_is_refused() -> None:
    with pytest.raises(FlowError, match="'decade' is not one of"):
        apply("startOf", NOON, "decade")
