"""Subscriptions of this process by topic, and their repeated checks."""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from itertools import count
from time import perf_counter
from typing import Any, Final, Protocol

from bbops.runtime.realtime.linking import Identity, Verdict
from bbops.runtime.realtime.topics import Params, Topic
from bbops_server.data_plane.realtime import protocol
from bbops_server.data_plane.realtime.codes import Closing
from bbops_server.process.sockets.websocket import text_frame


class Told:
    """Something that all subscribers of a topic are told: each form of it is made once."""

    __slots__ = ("_frame", "data", "event", "offset", "text")

    def __init__(self, text: bytes, data: bytes = b"", offset: int = 0) -> None:
        self.text, self.data, self.offset = text, data, offset
        self._frame: bytes | None = None
        self.event: bytes | None = None
        """As it goes over a stream of events, once somebody has made it."""

    @property
    def frame(self) -> bytes:
        """As it goes over a websocket."""
        if self._frame is None:
            self._frame = text_frame(self.text)
        return self._frame


class Owner(Protocol):
    """A connection that has subscriptions."""

    @property
    def client(self) -> str:
        """Its name, which nobody can guess."""
        ...

    @property
    def identity(self) -> Identity:
        """Who it is."""
        ...

    @property
    def is_closed(self) -> bool:
        """Whether it has ended."""
        ...

    def tell(self, told: Told) -> None:
        """Send something of a topic, without waiting."""
        ...

    def tell_end(self, name: str, why: Closing) -> None:
        """Say that a subscription has ended; it is gone already."""
        ...


class Place:
    """Where a subscription stands that sees changes of rows.

    Attributes:
        key: what its rows have in common.
        seen: the number of the last change that it has seen, or was past.
        waiting: changes that have come while it reads what it has missed; None once it is live.
    """

    __slots__ = ("key", "seen", "waiting")

    def __init__(self, key: Any) -> None:
        self.key, self.seen = key, 0
        self.waiting: list[tuple[int, Told]] | None = []


class Subscription:
    """One client of one topic."""

    __slots__ = (
        "due", "epoch", "is_live", "name", "owner", "params", "place", "topic", "verdict",
        "wants_moves",
    )  # fmt: skip

    def __init__(
        self, owner: Owner, name: str, topic: Topic, params: Params, verdict: Verdict
    ) -> None:
        self.owner, self.name, self.topic, self.params = owner, name, topic, params
        self.verdict, self.is_live, self.wants_moves = verdict, False, False
        self.epoch, self.due = "", 0
        self.place: Place | None = None
        """Where it is among those that see changes of rows; None elsewhere."""


class Rooms:
    """Who has subscribed to what."""

    def __init__(self) -> None:
        self._rooms: dict[str, dict[str, Subscription]] = {}

    def add(self, one: Subscription) -> None:
        """Give what comes from now on to a subscription, too."""
        one.is_live = True
        self._rooms.setdefault(one.name, {})[one.owner.client] = one

    def remove(self, one: Subscription) -> bool:
        """Take a subscription away; return whether it was there."""
        room = self._rooms.get(one.name)
        one.is_live = False
        if room is None or room.get(one.owner.client) is not one:
            return False
        del room[one.owner.client]
        if not room:
            del self._rooms[one.name]
        return True

    def of(self, name: str) -> tuple[Subscription, ...]:
        """Return the subscriptions to a topic."""
        return tuple(self._rooms.get(name, {}).values())

    @property
    def every(self) -> list[Subscription]:
        """All subscriptions."""
        return [one for room in self._rooms.values() for one in room.values()]

    def deliver(self, name: str, data: bytes, offset: int) -> int:
        """Give a message to the subscribers of a topic; return how many there are."""
        found = self.of(name)
        if found:
            pub = protocol.publication(data, offset)
            told = Told(protocol.push(name, pub=pub), data, offset)
            for one in found:
                one.owner.tell(told)
        return len(found)

    def move(self, name: str, client: str, shown: Any, *, is_there: bool) -> None:
        """Tell those who want to know that somebody has come or gone."""
        info = {"info": client_info(client, shown)}
        told = Told(protocol.push(name, **{"join" if is_there else "leave": info}))
        for one in self.of(name):
            if one.wants_moves and one.owner.client != client:
                one.owner.tell(told)


def client_info(client: str, shown: Any) -> dict[str, Any]:
    """Return what others see of a client: nothing that its topic does not show."""
    return {"user": "", "client": client, "chan_info": shown}


# ---- Judge subscriptions again: each in its time, and all of them when a release goes live
# Others are answered meanwhile: nothing here keeps the loop for longer than a millisecond.

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
