"""The jobs that one process runs at a time, shared fairly by the workers of its projects."""

from __future__ import annotations

from asyncio import Event
from collections import Counter
from itertools import takewhile
from typing import Final

MOST_IN_A_PROCESS: Final = 100


class Seats:
    """A number of seats. A worker that gets too few waits: its event is set when some are free.

    While workers wait, each takes at most an equal part of the seats, the longest waiting first,
    so a project with a long queue keeps no other from its jobs.
    """

    def __init__(self, most: int = MOST_IN_A_PROCESS) -> None:
        self._most = most
        self._taken = Counter[Event]()
        self._waiting = dict[Event, None]()
        """Workers in the order in which they wait."""

    def reserve(self, woken: Event, wanted: int) -> int:
        """Take at most so many seats for a worker; return how many it has got.

        Args:
            woken: the worker's event, which names it.
            wanted: how many jobs it could begin.
        """
        room = self._most - self._taken.total()
        others = self._waiting.keys() - {woken}
        if others:
            busy = {worker for worker, count in self._taken.items() if count}
            share = max(1, self._most // len(busy | others | {woken}))
            ahead = takewhile(lambda worker: worker is not woken, self._waiting)
            room -= sum(self._taken[worker] < share for worker in [*ahead])
            room = min(room, share - self._taken[woken])
        got = max(0, min(wanted, room))
        self._taken[woken] += got
        if got:
            self._waiting.pop(woken, None)  # to the end of the queue, if it wants more
        if got < wanted:
            self._waiting.setdefault(woken)
        return got

    def free(self, woken: Event, count: int) -> None:
        """Give seats of a worker back, and wake the other workers that wait for some."""
        self._taken[woken] -= count
        if count:
            self._wake_others(woken)

    def rest(self, woken: Event) -> None:
        """Let a worker wait no more: it has no job to begin."""
        if woken in self._waiting:
            del self._waiting[woken]
            self._wake_others(woken)

    def leave(self, woken: Event) -> None:
        """Forget a worker that has ended."""
        self.rest(woken)
        self.free(woken, self._taken[woken])
        del self._taken[woken]

    def _wake_others(self, woken: Event) -> None:
        for worker in self._waiting.keys() - {woken}:
            worker.set()
