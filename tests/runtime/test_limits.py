"""Limits: never more than allowed in a minute, and an honest Retry-After."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbops.runtime.http.rate_limits import SlidingWindow
from tests.support.clock import Clock


def test_the_limit_is_reached_by_each_key_alone() -> None:
    window = SlidingWindow(2, Clock())
    assert [window.allow("a") for _ in range(3)] == [True, True, False]
    assert window.allow("b")


def test_zero_is_no_limit() -> None:
    window = SlidingWindow(0, Clock())
    assert all(window.allow("a") for _ in range(1_000))
    assert window.retry_after_seconds("a") == 0


def test_the_last_minute_counts_by_its_share() -> None:
    clock = Clock()
    window = SlidingWindow(10, clock)
    assert sum(window.allow("a") for _ in range(20)) == 10
    clock.move(90)
    assert sum(window.allow("a") for _ in range(20)) == 5


def test_two_minutes_later_all_is_forgotten() -> None:
    clock = Clock()
    window = SlidingWindow(3, clock)
    assert sum(window.allow("a") for _ in range(5)) == 3
    clock.move(125)
    assert sum(window.allow("a") for _ in range(5)) == 3


def test_a_refused_request_does_not_count() -> None:
    clock = Clock()
    window = SlidingWindow(1, clock)
    assert window.allow("a")
    for _ in range(119):
        clock.move(0.5)
        assert not window.allow("a")
    clock.move(1)
    assert window.allow("a")


def test_a_clock_set_back_does_not_lock_anyone_out() -> None:
    clock = Clock()
    window = SlidingWindow(1, clock)
    assert window.allow("a")
    clock.move(-86_400)
    assert not window.allow("a")
    clock.move(121)
    assert window.allow("a")


@given(
    st.integers(1, 5),
    st.lists(st.floats(0, 100, allow_nan=False), max_size=60),
)
def test_retry_after_is_long_enough_and_zero_only_when_allowed(
    limit: int, pauses: list[float]
) -> None:
    clock = Clock()
    window = SlidingWindow(limit, clock)
    for pause in pauses:
        clock.move(pause)
        wait = window.retry_after_seconds("a")
        assert 0 <= wait <= 121
        allowed = window.allow("a")
        assert allowed is (wait == 0)
        if not allowed:
            clock.move(wait)
            assert window.allow("a")


@given(st.integers(1, 5), st.lists(st.floats(0, 20, allow_nan=False), max_size=80))
def test_no_fixed_minute_has_more_than_the_limit(limit: int, pauses: list[float]) -> None:
    clock = Clock()
    start = clock.now()
    window = SlidingWindow(limit, clock)
    counts: dict[int, int] = {}
    for pause in pauses:
        clock.move(pause)
        if window.allow("a"):
            minute = int((clock.now() - start).total_seconds() // 60)
            counts[minute] = counts.get(minute, 0) + 1
    assert all(count <= limit for count in counts.values())


def test_the_keys_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bbops.runtime.http.rate_limits.MAX_KEYS", 3)
    window = SlidingWindow(1, Clock())
    for key in "abcde":
        assert window.allow(key)
    assert len(window._current) == 3
    assert not window.allow("e")
