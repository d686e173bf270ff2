"""Judge subscriptions again: each in its time, and all of them when a release goes live.

Others are answered meanwhile: nothing here keeps the loop for longer than a millisecond.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from itertools import count
from time import perf_counter
from typing import Final

from bbops_server.data_plane.realtime.rooms import Subscription

SLICE_SECONDS: Final = 0.001
_AT_ONCE: Final = 8
"""Judgements that wait for a database, or for another server, at a time."""


class Rejudging:
    """What is to be judged, now and later. Without anything, no timer runs."""

    def __init__(self, judge: Callable[[Subscription], Awaitable[None]]) -> None:
        """`judge` keeps a subscription, or ends it; it does not raise."""
        self._judge, self._numbers = judge, count()
        self._due: list[tuple[float, int, Subscription]] = []
        self._now: deque[Subscription] = deque()
        self._workers: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None

    def plan(self, one: Subscription) -> None:
        """Judge a subscription once its topic's time has passed."""
        seconds = one.topic.recheck_seconds
        if seconds is not None:
            loop = asyncio.get_running_loop()
            one.due = next(self._numbers)
            heapq.heappush(self._due, (loop.time() + seconds, one.due, one))
            self._set_timer(loop)

    def take(self, some: Iterable[Subscription]) -> None:
        """Judge subscriptions now."""
        self._now.extend(some)
        while self._now and len(self._workers) < _AT_ONCE:
            task = asyncio.create_task(self._work())
            self._workers.add(task)
            task.add_done_callback(self._workers.discard)
            if len(self._workers) >= len(self._now):
                break

    def close(self) -> None:
        """Judge nothing more."""
        self._due.clear()
        self._now.clear()
        if self._timer is not None:
            self._timer.cancel()

    async def _work(self) -> None:
        until = perf_counter() + SLICE_SECONDS
        while self._now:
            one = self._now.popleft()
            if one.is_live:
                await self._judge(one)
            if perf_counter() > until:
                await asyncio.sleep(0)
                until = perf_counter() + SLICE_SECONDS

    def _set_timer(self, loop: asyncio.AbstractEventLoop) -> None:
        at = self._due[0][0]
        if self._timer is None or self._timer.cancelled() or self._timer.when() > at:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = loop.call_at(at, self._ring)

    def _ring(self) -> None:
        loop, found = asyncio.get_running_loop(), list[Subscription]()
        self._timer = None
        while self._due and self._due[0][0] <= loop.time():
            _, number, one = heapq.heappop(self._due)
            if one.is_live and one.due == number:  # else it was judged since
                found.append(one)
        self.take(found)
        if self._due:
            self._set_timer(loop)
