"""Count attempts in sliding windows, in bounded memory."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from time import monotonic

MOST_KEYS = 20_000
"""What was tried longest ago is forgotten first."""


class Limit:
    """At most `most` attempts of one key within `seconds`. Safe to use from threads."""

    def __init__(
        self, most: int, seconds: float, *, clock: Callable[[], float] = monotonic
    ) -> None:
        self._most, self._seconds, self._clock = most, seconds, clock
        self._seen: OrderedDict[str, deque[float]] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, key: str) -> int:
        """Count an attempt; return 0, or after how many seconds to come again.

        One that is refused does not count.
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
        """Begin anew with a key: it was somebody who may."""
        with self._lock:
            self._seen.pop(key, None)
