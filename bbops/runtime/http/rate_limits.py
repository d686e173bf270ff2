"""How many requests a minute one key may make, and how a client is told.

Source of the headers: draft-ietf-httpapi-ratelimit-headers-10.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple, Protocol

from bbops.base.host import Clock
from bbops.runtime.http.shared_counters import SharedCounters

_WINDOW_SECONDS: Final = 60.0
MAX_KEYS: Final = 100_000
"""Keys counted per minute; the one first seen gives way."""


Taken = tuple[int, int]
"""How many requests are left after one, -1 where it may not be made; seconds to the next minute."""
SIGN_INS_PER_ADDRESS: Final = 30
"""A minute, of an endpoint that signs in and whose channel has no limit of its own."""
SIGN_INS_PER_NAME: Final = 10
"""Likewise, for one name from one address, also where the channel has a limit."""
SIGN_INS_FROM_ANYWHERE: Final = 100
"""For one name: a password is not guessed from many addresses either, and whoever tries from a few
keeps nobody else out.
"""


class Limit(Protocol):
    """Counts the requests of each key."""

    @property
    def per_minute(self) -> int:
        """How many there may be."""
        ...

    def take(self, key: str) -> Taken:
        """Count one more request of the key, if it may make one, and return what is left."""
        ...

    def allow(self, key: str) -> bool:
        """Return whether the key may make one more request, and count it if so."""
        ...

    def retry_after_seconds(self, key: str) -> int:
        """Return the whole seconds until the key may try again, 0 when it may now."""
        ...


class NameLimits(NamedTuple):
    """Count the sign-ins under one name: from one address, and from anywhere."""

    near: Limit
    anywhere: Limit


_ENDLESS: Final[Taken] = (1, 0)


class Told:
    """A limit and its name, as the headers `ratelimit-policy` and `ratelimit` tell of it."""

    __slots__ = ("_lines",)

    def __init__(self, name: str, per_minute: int) -> None:
        """`name` is a channel's: it needs no quoting."""
        policy = b'ratelimit-policy: "%b";q=%d;w=60\r\n' % (name.encode(), per_minute)
        self._lines = policy + b'ratelimit: "%b";r=%%d;t=%%d\r\n' % name.encode()

    def lines(self, left: int, seconds: int) -> bytes:
        """Return the lines that tell how many requests are left, and for how long."""
        return self._lines % (left, seconds)


class SlidingWindow:
    """At most so many requests in any fixed minute, and about as many in any other.

    Two counts per key: this minute's, and the last minute's by the share of it that still lies
    within sixty seconds. Zero means no limit. For one event loop; not for threads.
    """

    __slots__ = ("_clock", "_current", "_previous", "_start", "per_minute")

    def __init__(self, limit_per_minute: int, clock: Clock) -> None:
        self.per_minute, self._clock = limit_per_minute, clock
        self._current: dict[str, int] = {}
        self._previous: dict[str, int] = {}
        self._start = clock.now().timestamp()

    def take(self, key: str) -> Taken:
        """Count one more request of the key, if it may make one, and return what is left."""
        elapsed = self._elapsed()
        if self.per_minute <= 0:
            return _ENDLESS
        rest = _WINDOW_SECONDS - elapsed
        count = self._current.get(key, 0)
        used = count + self._previous.get(key, 0) * rest / _WINDOW_SECONDS
        if used >= self.per_minute:
            return -1, 0
        if not count and len(self._current) >= MAX_KEYS:
            del self._current[next(iter(self._current))]
        self._current[key] = count + 1
        return int(self.per_minute - used - 1), math.ceil(rest)

    def allow(self, key: str) -> bool:
        """Return whether the key may make one more request, and count it if so."""
        return self.take(key)[0] >= 0

    def retry_after_seconds(self, key: str) -> int:
        """Return the whole seconds until the key may try again, 0 when it may now."""
        elapsed = self._elapsed()
        count, before = self._current.get(key, 0), self._previous.get(key, 0)
        return _wait_seconds(self.per_minute, count, before, elapsed)

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


class SharedWindow:
    """The same limit, counted together with the other processes of this machine.

    Minutes are those of the clock. Two processes that take the last place at the same moment may
    both be refused it; more than the limit never pass. A check costs 1.3 µs with one lane, 1.5
    with two, 2.0 with four and 2.8 with eight, where a `SlidingWindow` costs 0.7.
    """

    __slots__ = ("_clock", "_counters", "_names", "_scope", "per_minute")

    def __init__(
        self, limit_per_minute: int, clock: Clock, counters: SharedCounters, scope: str
    ) -> None:
        """Count in `counters`; windows of the same scope count together."""
        self.per_minute, self._clock, self._counters = limit_per_minute, clock, counters
        self._scope = scope
        self._names: dict[str, int] = {}

    def take(self, key: str) -> Taken:
        """Count one more request of the key, if it may make one, and return what is left."""
        if self.per_minute <= 0:
            return _ENDLESS
        counters, name = self._counters, self._names.get(key) or self._name(key)
        minute, second = divmod(self._clock.now().timestamp(), _WINDOW_SECONDS)
        minute, rest = int(minute), _WINDOW_SECONDS - second
        # counted before looked at: of two processes at least one sees the other
        counters.add(name, minute)
        count, before = counters.count(name, minute)
        used = count - 1 + before * rest / _WINDOW_SECONDS
        if used < self.per_minute:
            return int(self.per_minute - used - 1), math.ceil(rest)
        counters.take_back(name, minute)
        return -1, 0

    def allow(self, key: str) -> bool:
        """Return whether the key may make one more request, and count it if so."""
        return self.take(key)[0] >= 0

    def retry_after_seconds(self, key: str) -> int:
        """Return the whole seconds until the key may try again, 0 when it may now."""
        minute, second = divmod(self._clock.now().timestamp(), _WINDOW_SECONDS)
        count, before = self._counters.count(self._name(key), int(minute))
        return _wait_seconds(self.per_minute, count, before, second)

    def _name(self, key: str) -> int:
        if len(self._names) >= MAX_KEYS:
            self._names.clear()
        name = self._names[key] = self._counters.name(f"{self._scope}\0{self.per_minute}\0{key}")
        return name


def _wait_seconds(limit: int, count: int, before: int, elapsed: float) -> int:
    share = 1.0 - elapsed / _WINDOW_SECONDS
    if limit <= 0 or count + before * share < limit:
        return 0
    if count < limit:
        freed = _WINDOW_SECONDS * (1.0 - (limit - count) / before)
    else:
        freed = _WINDOW_SECONDS * (2.0 - limit / count)
    return math.floor(freed - elapsed) + 1
