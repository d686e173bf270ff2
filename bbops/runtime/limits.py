"""How many requests a minute one key may make."""

from __future__ import annotations

import math
from typing import Final

from bbops.host import Clock

_WINDOW_SECONDS: Final = 60.0
MAX_KEYS: Final = 100_000
"""Keys counted per minute; the one first seen gives way."""


class SlidingWindow:
    """At most so many requests in any fixed minute, and about as many in any other.

    Two counts per key: this minute's, and the last minute's by the share of it that still lies
    within sixty seconds. Zero means no limit. For one event loop; not for threads.
    """

    __slots__ = ("_clock", "_current", "_limit", "_previous", "_start")

    def __init__(self, limit_per_minute: int, clock: Clock) -> None:
        self._limit, self._clock = limit_per_minute, clock
        self._current: dict[str, int] = {}
        self._previous: dict[str, int] = {}
        self._start = clock.now().timestamp()

    def allow(self, key: str) -> bool:
        """Return whether the key may make one more request, and count it if so."""
        if self._limit <= 0:
            return True
        share = 1.0 - self._elapsed() / _WINDOW_SECONDS
        count = self._current.get(key, 0)
        if count + self._previous.get(key, 0) * share >= self._limit:
            return False
        if not count and len(self._current) >= MAX_KEYS:
            del self._current[next(iter(self._current))]
        self._current[key] = count + 1
        return True

    def retry_after_seconds(self, key: str) -> int:
        """Return the whole seconds until the key may try again, 0 when it may now."""
        elapsed = self._elapsed()
        count, before = self._current.get(key, 0), self._previous.get(key, 0)
        share = 1.0 - elapsed / _WINDOW_SECONDS
        if self._limit <= 0 or count + before * share < self._limit:
            return 0
        if count < self._limit:
            freed = _WINDOW_SECONDS * (1.0 - (self._limit - count) / before)
        else:
            freed = _WINDOW_SECONDS * (2.0 - self._limit / count)
        return math.floor(freed - elapsed) + 1

    def _elapsed(self) -> float:
        """Return the seconds since this minute began, after moving on to it."""
        now = self._clock.now().timestamp()
        elapsed = now - self._start
        if elapsed < 0.0:  # the clock was set back
            self._start, elapsed = now, 0.0
        if elapsed >= _WINDOW_SECONDS:
            self._previous = self._current if elapsed < 2 * _WINDOW_SECONDS else {}
            self._current = {}
            elapsed %= _WINDOW_SECONDS
            self._start = now - elapsed
        return elapsed
