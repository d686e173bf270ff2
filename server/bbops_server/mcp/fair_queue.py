"""Let the agents of one person do their work one after the other: they share one thread.

So whoever asks for a hundred previews at once waits for them alone, and colleagues for one of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final
from weakref import WeakValueDictionary

from bbops.interfaces.mcp.tool import ToolError

WAIT_SECONDS: Final = 60.0


class OneAtATime:
    """Remembers whose work is under way, and nobody else."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def turn(self, person: str) -> AsyncIterator[None]:
        """Hold the turn of a person while the block runs, after what was asked before.

        Raises:
            Refused: that takes too long.
        """
        lock = self._locks.setdefault(person, asyncio.Lock())
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                await lock.acquire()
        except TimeoutError:
            raise ToolError(
                f"your other agents have used {WAIT_SECONDS:g} seconds",
                hint="make fewer calls at once, and try again in a moment",
            ) from None
        try:
            yield
        finally:
            lock.release()
