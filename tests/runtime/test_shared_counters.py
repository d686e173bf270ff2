"""Limits that several processes count together: no count is lost, and none is doubled."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbops.runtime.http.rate_limits import (
    SLOTS,
    SharedCounters,
    SharedWindow,
    SlidingWindow,
    size_bytes,
)
from bbops.runtime.linking.lasting import Lasting
from tests.conftest import ROOT
from tests.support.clock import Clock


def counters(count: int, *, buckets: int = 64) -> list[SharedCounters]:
    memory = memoryview(bytearray(size_bytes(count, buckets=buckets)))
    memory[:4] = b"salt"
    return [SharedCounters(memory, number, count, buckets=buckets) for number in range(count)]


def windows(limit: int, count: int = 2, clock: Clock | None = None) -> list[SharedWindow]:
    moment = clock or Clock()
    return [SharedWindow(limit, moment, one, "api") for one in counters(count)]


def test_each_sees_what_the_others_let_through() -> None:
    one, other = windows(3)
    assert [one.allow("a"), other.allow("a"), one.allow("a")] == [True] * 3
    assert [one.allow("a"), other.allow("a")] == [False] * 2
    assert other.allow("b")


def test_scopes_and_limits_count_apart() -> None:
    one, other = counters(2)
    first = SharedWindow(1, Clock(), one, "api")
    assert first.allow("a")
    assert SharedWindow(1, Clock(), other, "web").allow("a")
    assert SharedWindow(2, Clock(), other, "api").allow("a")
    assert not SharedWindow(1, Clock(), other, "api").allow("a")


def test_who_takes_over_a_lane_goes_on_with_its_counts() -> None:
    memory = memoryview(bytearray(size_bytes(2, buckets=8)))
    for _ in range(5):
        mine = SharedWindow(5, Clock(), SharedCounters(memory, 1, 2, buckets=8), "api")
        assert mine.allow("a")
    mine = SharedWindow(5, Clock(), SharedCounters(memory, 1, 2, buckets=8), "api")
    assert not mine.allow("a")


def test_the_last_minute_counts_by_its_share_in_all_lanes() -> None:
    clock = Clock()
    one, other = windows(10, clock=clock)
    assert sum(each.allow("a") for each in (one, other) * 10) == 10
    clock.move(90)
    assert sum(each.allow("a") for each in (one, other) * 10) == 5
    clock.move(120)
    assert sum(each.allow("a") for each in (one, other) * 10) == 10


def test_zero_is_no_limit() -> None:
    assert all(windows(0)[0].allow("a") for _ in range(100))


def test_a_clock_set_back_does_not_lock_anyone_out() -> None:
    clock = Clock()
    one, other = windows(1, clock=clock)
    assert one.allow("a")
    clock.move(-86_400)
    assert other.allow("a")


def test_the_busiest_keys_stay_when_there_is_no_room() -> None:
    one, other = counters(2, buckets=1)
    busy = SharedWindow(3, Clock(), one, "api")
    assert [busy.allow("busy") for _ in range(4)] == [True, True, True, False]
    assert all(busy.allow(f"key {number}") for number in range(10 * SLOTS))
    assert not busy.allow("busy")
    assert not SharedWindow(3, Clock(), other, "api").allow("busy")


@given(
    st.integers(1, 5),
    st.lists(st.tuples(st.integers(0, 2), st.floats(0, 40, allow_nan=False)), max_size=80),
)
def test_no_minute_has_more_than_the_limit_and_retry_after_is_honest(
    limit: int, asked: list[tuple[int, float]]
) -> None:
    clock, counts = Clock(), dict[int, int]()
    shared = windows(limit, 3, clock)
    for number, pause in asked:
        clock.move(pause)
        wait = shared[number].retry_after_seconds("a")
        allowed = shared[number].allow("a")
        assert allowed is (wait == 0)
        minute = int(clock.now().timestamp() // 60)
        counts[minute] = counts.get(minute, 0) + allowed
        if not allowed:
            clock.move(wait)
            assert shared[number].retry_after_seconds("a") == 0
            clock.move(-wait)
    assert all(count <= limit for count in counts.values())


HAMMER = """
import mmap, sys
from bbops.runtime.http.rate_limits import SharedCounters
from bbops.runtime.http.rate_limits import SharedWindow, SlidingWindow
from tests.support.clock import Clock

file, lane, limit = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with open(file, "r+b") as opened:
    memory = mmap.mmap(opened.fileno(), 0)
window = SharedWindow(limit, Clock(), SharedCounters(memoryview(memory), lane, 2), "api")
print("ready", flush=True)
sys.stdin.readline()
print(sum(window.allow(f"key {number % 3}") for number in range(6 * limit)))
"""


@pytest.mark.long
@pytest.mark.parametrize("limit", [100, 5_000])
def test_two_processes_at_once_let_exactly_the_limit_through(tmp_path: Path, limit: int) -> None:
    file = tmp_path / "lanes"
    file.write_bytes(bytes(size_bytes(2)))
    each = [
        subprocess.Popen(
            [sys.executable, "-c", HAMMER, file, str(lane), str(limit)], cwd=ROOT, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        ) for lane in range(2)
    ]  # fmt: skip
    for process in each:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in each:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    assert sum(int(process.communicate(timeout=60)[0]) for process in each) == 3 * limit


def test_without_lanes_a_process_counts_for_itself() -> None:
    assert "Shared" not in type(Lasting().limit("api", 1, Clock())).__name__
    (lane,) = counters(1)
    assert "Shared" in type(Lasting(lane).limit("api", 1, Clock())).__name__


def test_a_window_of_an_hour_counts_as_one_of_a_minute_does() -> None:
    clock = Clock()
    lanes = [SharedWindow(2, clock, one, "api", 3600) for one in counters(2)]
    alone = SlidingWindow(2, clock, 3600)
    for each in (*lanes, alone):
        assert each.seconds == 3600
    assert [lanes[0].allow("a"), lanes[1].allow("a"), lanes[0].allow("a")] == [True, True, False]
    assert [alone.allow("a") for _ in range(3)] == [True, True, False]
    clock.move(1800)
    assert (lanes[0].allow("a"), alone.allow("a")) == (False, False)
    assert 0 < lanes[1].retry_after_seconds("a") <= 3600
    clock.move(7200)
    assert (lanes[0].allow("a"), alone.allow("a")) == (True, True)


def test_windows_of_other_lengths_count_apart() -> None:
    one, other = counters(2)
    assert SharedWindow(1, Clock(), one, "api", 60).allow("a")
    assert SharedWindow(1, Clock(), other, "api", 3600).allow("a")
    assert not SharedWindow(1, Clock(), other, "api", 60).allow("a")
