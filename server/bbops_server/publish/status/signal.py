"""Wake who waits for a change in this process: nobody has to look again and again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress


class Signal:
    """Each `send` wakes every task that waits then. For one event loop."""

    def __init__(self) -> None:
        self._next = asyncio.Event()

    def send(self) -> None:
        """Wake who waits."""
        sent, self._next = self._next, asyncio.Event()
        sent.set()

    def next(self) -> asyncio.Event:
        """Return what the next `send` sets; to be taken before one looks whether to wait."""
        return self._next

    async def wait(self, is_true: Callable[[], bool], seconds: float) -> bool:
        """Return True once something is true, as it may be after each `send`; False when late."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not is_true():
                    await self._next.wait()
        return is_true()
