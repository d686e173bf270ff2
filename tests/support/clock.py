"""Clocks that a test moves."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import uvloop

NOON = datetime(2026, 3, 5, 12, tzinfo=UTC)


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self, start: datetime = NOON) -> None:
        self.time = start

    def now(self) -> datetime:
        return self.time

    def move(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)


class FrozenClockLoop(uvloop.Loop):
    """An event loop whose clock stands until it is moved; its timers run in real time.

    For code that compares times of the loop now and then, as a server does with idle connections.
    """

    def __init__(self) -> None:
        super().__init__()
        self._now = super().time()

    def time(self) -> float:
        return self._now

    def move(self, seconds: float) -> None:
        self._now += seconds


class MovedTimersLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock runs and can be moved ahead, and its timers with it.

    For code that sleeps. A test gives it hours to wait, so that only a move ends them.
    """

    _ahead = 0.0

    def time(self) -> float:
        return super().time() + self._ahead

    def move(self, seconds: float) -> None:
        self._ahead += seconds


def move_clock(seconds: float) -> None:
    """Move the clock of the running event loop."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, FrozenClockLoop | MovedTimersLoop)
    loop.move(seconds)


class MonotonicClock:
    """A replacement of `time.monotonic` that stands until its `seconds` are moved."""

    def __init__(self) -> None:
        self.seconds = 1_000.0

    def __call__(self) -> float:
        return self.seconds
