"""Counts of attempts in sliding windows, and a short cache by key."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from datetime import datetime, timedelta
from time import monotonic
from typing import Final, Generic, TypeVar

MOST_KEYS = 20_000
"""The number of counted keys; the least recently used are dropped."""


class Limit:
    """At most `most` attempts of one key within `seconds`. Safe to use from threads."""

    def __init__(
        self, most: int, seconds: float, *, clock: Callable[[], float] = monotonic
    ) -> None:
        self._most, self._seconds, self._clock = most, seconds, clock
        self._seen: OrderedDict[str, deque[float]] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, key: str) -> int:
        """Count an attempt; return 0, or the seconds until the next attempt.

        A refused attempt does not count.
        """
        now = self._clock()
        with self._lock:
            seen = self._seen.setdefault(key, deque())
            self._seen.move_to_end(key)
            while seen and seen[0] <= now - self._seconds:
                seen.popleft()
            if len(seen) >= self._most:
                return max(1, math.ceil(seen[0] + self._seconds - now))
            seen.append(now)
            if len(self._seen) > MOST_KEYS:
                self._seen.popitem(last=False)
        return 0

    def forget(self, key: str) -> None:
        """Reset the count of a key after a success."""
        with self._lock:
            self._seen.pop(key, None)


# ---- A cache of lookups by key, because an agent sends many requests with one

V = TypeVar("V")

LASTS: Final = timedelta(seconds=5)
"""Short, because another server on the same PostgreSQL may change the accounts."""
MOST: Final = 20_000


class Remembered(Generic[V]):
    """A cache by the hashes of keys. Safe to use from threads."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[object, datetime, V]] = {}

    def get(self, hashed: str, edition: object, now: datetime) -> V | None:
        """Return the recent value of a key in this edition of the store."""
        found = self._kept.get(hashed)
        if found is None or found[0] is not edition or found[1] <= now:
            return None
        return found[2]

    def keep(self, hashed: str, value: V, edition: object, now: datetime, until: datetime) -> None:
        """Store a value, until `until` at most; `edition` is from before the lookup."""
        if len(self._kept) >= MOST:
            self._kept = {}
        self._kept[hashed] = edition, min(now + LASTS, until), value
