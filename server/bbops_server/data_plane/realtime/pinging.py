"""Ask each client for a sign of life, a part of them each second; without clients no timer runs."""

from __future__ import annotations

import asyncio
from itertools import cycle
from typing import Final, Protocol

from bbops_server.data_plane.realtime.codes import NO_PONG, Closing
from bbops_server.data_plane.realtime.limits import PING_SECONDS

_AT_ONCE: Final = 100
_SECOND: Final = 1.0


class Pinged(Protocol):
    """A client that is asked."""

    def ping(self) -> bool:
        """Ask it; return False where it has not answered before."""
        ...

    def close(self, why: Closing) -> None:
        """End its connection."""
        ...


class Pinging:
    """All clients of a hub, by the second in which they are asked."""

    def __init__(self) -> None:
        self._slots: list[set[Pinged]] = [set() for _ in range(PING_SECONDS)]
        self._next = cycle(self._slots)
        self._task: asyncio.Task[None] | None = None

    def add(self, one: Pinged) -> None:
        """Ask a client from now on."""
        min(self._slots, key=len).add(one)
        if self._task is None:
            self._task = asyncio.create_task(self._keep_asking())

    def discard(self, one: Pinged) -> None:
        """Ask it no more."""
        for slot in self._slots:
            slot.discard(one)

    async def _keep_asking(self) -> None:
        for slot in self._next:
            await asyncio.sleep(_SECOND)
            for number, one in enumerate(tuple(slot)):
                if not one.ping():
                    one.close(NO_PONG)
                if number % _AT_ONCE == _AT_ONCE - 1:
                    await asyncio.sleep(0)
            if not any(self._slots):
                break
        self._task = None
