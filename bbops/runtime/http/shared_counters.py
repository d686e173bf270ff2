"""Counts that several processes of one machine see, in memory they share.

Each process writes in a lane of its own and reads all: no lock, and no count is ever lost. A
process that takes the place of a dead one goes on with its lane.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

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
