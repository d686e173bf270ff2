"""A clock for tests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

NOON = datetime(2026, 3, 5, 12, tzinfo=UTC)


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self, start: datetime = NOON) -> None:
        self.time = start

    def now(self) -> datetime:
        return self.time

    def move(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)


class MonotonicClock:
    """A replacement of `time.monotonic` that stands until its `seconds` are moved."""

    def __init__(self) -> None:
        self.seconds = 1_000.0

    def __call__(self) -> float:
        return self.seconds
