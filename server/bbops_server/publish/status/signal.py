"""Wake tasks that wait for a change in this process, instead of polling."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress


class Signal:
    """Wakes all waiting tasks with each `send`. For one event loop."""

    def __init__(self) -> None:
        self._next = asyncio.Event()

    def send(self) -> None:
        """Wake all waiting tasks."""
        sent, self._next = self._next, asyncio.Event()
        sent.set()

    def next(self) -> asyncio.Event:
        """Return the event that the next `send` sets; to be read before the condition."""
        return self._next

    async def wait(self, is_true: Callable[[], bool], seconds: float) -> bool:
        """Return True once a condition is true, checked after each `send`; False in the end."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not is_true():
                    await self._next.wait()
        return is_true()
