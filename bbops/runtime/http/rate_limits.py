"""Rate limits of keys: windows, headers, and counters in memory that processes share.

Each process writes in its own lane of the shared memory and reads all lanes: there is no lock, and
no count is lost. A process that replaces a dead one takes over its lane.
Source of the headers: draft-ietf-httpapi-ratelimit-headers-10.
"""

from __future__ import annotations

import math
from hashlib import blake2b
from typing import Final, NamedTuple, Protocol

from bbops.base.host import Clock

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


BUCKETS: Final = 1 << 14
SLOTS: Final = 8
"""Keys of one bucket: the quietest gives way to a ninth."""

_HEADER_WORDS: Final = 8
_BUCKET_WORDS: Final = 3 * SLOTS  # keys, counts of this window, counts of the last
_COUNTS: Final = SLOTS  # from a key to its count of this window; that of the last is as far again
_COUNT: Final = (1 << 32) - 1
_MOST_REMEMBERED: Final = 100_000


def size_bytes(lanes: int, *, buckets: int = BUCKETS) -> int:
    """Return how large the memory of so many lanes is: about 3 MiB each, paid for as it fills."""
    return 8 * (_HEADER_WORDS + lanes * buckets * _BUCKET_WORDS)


class SharedCounters:
    """One process's view of the memory: all lanes to read, one of them to write.

    A word with a count holds the second in which its window began in the upper half, so it is
    changed by one aligned store, and one that is out of date shows it.
    """

    __slots__ = ("_buckets", "_lanes", "_mine", "_salt", "_theirs", "_words")

    def __init__(
        self, memory: memoryview, lane: int, lanes: int, *, buckets: int = BUCKETS
    ) -> None:
        """Take over a lane. The memory begins with a salt that its maker drew, then zeros."""
        self._words = memory.cast("B").cast("Q")
        self._salt = bytes(memory.cast("B")[: 8 * _HEADER_WORDS])
        self._buckets = buckets
        starts = [_HEADER_WORDS + each * buckets * _BUCKET_WORDS for each in range(lanes)]
        self._lanes = [starts.pop(lane), *starts]
        # where a key was found last; whether it is there still, the memory says
        self._mine: dict[int, int] = {}
        self._theirs: dict[int, list[int]] = {}

    def name(self, key: str) -> int:
        """Return the number under which a key is found. Clients choose keys, so it is salted."""
        return int.from_bytes(blake2b(key.encode(), digest_size=8, key=self._salt).digest()) or 1

    def add(self, name: int, begun: int) -> None:
        """Count one more in our own lane, in the window that began in that second of the clock."""
        words, slot = self._words, self._mine.get(name, 0)
        if words[slot] != name:
            slot = self._claim(name)
        at = slot + _COUNTS
        newest = words[at]
        if newest >> 32 == begun:
            words[at] = newest + 1
        else:  # a reader in between sees only the window before, which is all there was until now
            words[at + SLOTS] = newest
            words[at] = (begun << 32) + 1

    def take_back(self, name: int, begun: int) -> None:
        """Count one less, after `add` in the same window."""
        at = self._claim(name) + _COUNTS
        if self._words[at] >> 32 == begun and self._words[at] & _COUNT:
            self._words[at] -= 1

    def count(self, name: int, begun: int, seconds: int = 60) -> tuple[int, int]:
        """Return how often the key was added in this window and in the one before, in all lanes."""
        words, now, before = self._words, 0, 0
        found = self._theirs.get(name) or self._look(name)
        for number, slot in enumerate(found):
            if words[slot] != name:
                slot = found[number] = self._find(self._lanes[number], name)  # noqa: PLW2901
                if not slot:
                    continue
            newest = words[slot + _COUNTS]
            if newest >> 32 == begun:
                now += newest & _COUNT
                newest = words[slot + _COUNTS + SLOTS]
            if newest >> 32 == begun - seconds:
                before += newest & _COUNT
        return now, before

    def _look(self, name: int) -> list[int]:
        if len(self._theirs) >= _MOST_REMEMBERED:
            self._theirs.clear()
            self._mine.clear()
        found = self._theirs[name] = [self._find(lane, name) for lane in self._lanes]
        return found

    def _find(self, lane: int, name: int) -> int:
        """Return the slot of a key in a lane, 0 if it is not there."""
        start = lane + name % self._buckets * _BUCKET_WORDS
        names = self._words[start : start + SLOTS].tolist()
        return start + names.index(name) if name in names else 0

    def _claim(self, name: int) -> int:
        """Return the slot of a key in our own lane, after making room for a new one."""
        words, start = self._words, self._lanes[0] + name % self._buckets * _BUCKET_WORDS
        slot = self._find(self._lanes[0], name)
        if not slot:
            slot = min(range(start, start + SLOTS), key=lambda each: words[each + _COUNTS])
            words[slot] = 0
            words[slot + _COUNTS] = words[slot + _COUNTS + SLOTS] = 0
            words[slot] = name
        self._mine[name] = slot
        return slot
