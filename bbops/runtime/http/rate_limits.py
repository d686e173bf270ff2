"""How many requests one key may make in a time, and how a client is told.

Source of the headers: draft-ietf-httpapi-ratelimit-headers-10.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple, Protocol

from bbops.base.host import Clock
from bbops.runtime.http.shared_counters import SharedCounters

MINUTE: Final = 60
MAX_KEYS: Final = 100_000
"""Keys counted at a time; the one first seen gives way."""


Taken = tuple[int, int]
"""How many requests are left after one, -1 where it may not be made; seconds to the next window."""
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
    def most(self) -> int:
        """How many there may be in a window."""
        ...

    @property
    def seconds(self) -> int:
        """How long a window is."""
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

    def __init__(self, name: str, most: int, seconds: int = MINUTE) -> None:
        """`name` is a channel's or an endpoint's: it needs no quoting."""
        policy = b'ratelimit-policy: "%b";q=%d;w=%d\r\n' % (name.encode(), most, seconds)
        self._lines = policy + b'ratelimit: "%b";r=%%d;t=%%d\r\n' % name.encode()

    def lines(self, left: int, seconds: int) -> bytes:
        """Return the lines that tell how many requests are left, and for how long."""
        return self._lines % (left, seconds)


class SlidingWindow:
    """At most so many requests in any fixed window, a minute, and about as many in any other.

    Two counts per key: this window's, and the last one's by the share of it that still lies within
    its length. Zero means no limit. For one event loop; not for threads.
    """

    __slots__ = ("_clock", "_current", "_previous", "_start", "most", "seconds")

    def __init__(self, most: int, clock: Clock, seconds: int = MINUTE) -> None:
        self.most, self.seconds, self._clock = most, seconds, clock
        self._current: dict[str, int] = {}
        self._previous: dict[str, int] = {}
        self._start = clock.now().timestamp()

    def take(self, key: str) -> Taken:
        """Count one more request of the key, if it may make one, and return what is left."""
        elapsed = self._elapsed()
        if self.most <= 0:
            return _ENDLESS
        rest = self.seconds - elapsed
        count = self._current.get(key, 0)
        used = count + self._previous.get(key, 0) * rest / self.seconds
        if used >= self.most:
            return -1, 0
        if not count and len(self._current) >= MAX_KEYS:
            del self._current[next(iter(self._current))]
        self._current[key] = count + 1
        return int(self.most - used - 1), math.ceil(rest)

    def allow(self, key: str) -> bool:
        """Return whether the key may make one more request, and count it if so."""
        return self.take(key)[0] >= 0

    def retry_after_seconds(self, key: str) -> int:
        """Return the whole seconds until the key may try again, 0 when it may now."""
        elapsed = self._elapsed()
        count, before = self._current.get(key, 0), self._previous.get(key, 0)
        return _wait_seconds(self.most, self.seconds, count, before, elapsed)

    def _elapsed(self) -> float:
        """Return the seconds since this window began, after moving on to it."""
        now = self._clock.now().timestamp()
        elapsed = now - self._start
        if elapsed < 0.0:  # the clock was set back
            self._start, elapsed = now, 0.0
        if elapsed >= self.seconds:
            self._previous = self._current if elapsed < 2 * self.seconds else {}
            self._current = {}
            elapsed %= self.seconds
            self._start = now - elapsed
        return elapsed


class SharedWindow:
    """The same limit, counted together with the other processes of this machine.

    Windows begin at multiples of their length since 1970, as minutes of the clock do. Two processes
    that take the last place at the same moment may both be refused it; more than the limit never
    pass. A check costs 1.3 µs with one lane, 1.5 with two, 2.0 with four and 2.8 with eight, where
    a `SlidingWindow` costs 0.7.
    """

    __slots__ = ("_clock", "_counters", "_names", "_scope", "most", "seconds")

    def __init__(
        self, most: int, clock: Clock, counters: SharedCounters, scope: str, seconds: int = MINUTE
    ) -> None:  # fmt: skip
        """Count in `counters`; windows of the same scope count together."""
        self.most, self.seconds, self._clock, self._counters = most, seconds, clock, counters
        self._scope = scope
        self._names: dict[str, int] = {}

    def take(self, key: str) -> Taken:
        """Count one more request of the key, if it may make one, and return what is left."""
        if self.most <= 0:
            return _ENDLESS
        counters, name = self._counters, self._names.get(key) or self._name(key)
        begun, rest = self._window()
        # counted before looked at: of two processes at least one sees the other
        counters.add(name, begun)
        count, before = counters.count(name, begun, self.seconds)
        used = count - 1 + before * rest / self.seconds
        if used < self.most:
            return int(self.most - used - 1), math.ceil(rest)
        counters.take_back(name, begun)
        return -1, 0

    def allow(self, key: str) -> bool:
        """Return whether the key may make one more request, and count it if so."""
        return self.take(key)[0] >= 0

    def retry_after_seconds(self, key: str) -> int:
        """Return the whole seconds until the key may try again, 0 when it may now."""
        begun, rest = self._window()
        count, before = self._counters.count(self._name(key), begun, self.seconds)
        return _wait_seconds(self.most, self.seconds, count, before, self.seconds - rest)

    def _window(self) -> tuple[int, float]:
        """Return when this window began, in seconds since 1970, and how much of it is left."""
        window, elapsed = divmod(self._clock.now().timestamp(), self.seconds)
        return int(window) * self.seconds, self.seconds - elapsed

    def _name(self, key: str) -> int:
        if len(self._names) >= MAX_KEYS:
            self._names.clear()
        name = self._names[key] = self._counters.name(
            f"{self._scope}\0{self.most}\0{self.seconds}\0{key}"
        )
        return name


def _wait_seconds(limit: int, seconds: int, count: int, before: int, elapsed: float) -> int:
    share = 1.0 - elapsed / seconds
    if limit <= 0 or count + before * share < limit:
        return 0
    if count < limit:
        freed = seconds * (1.0 - (limit - count) / before)
    else:
        freed = seconds * (2.0 - limit / count)
    return math.floor(freed - elapsed) + 1
