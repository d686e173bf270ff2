"""As many requests as a number of connections can send one after the other."""

from __future__ import annotations

import asyncio
import time
from itertools import cycle

from tests.bench.load.connection import Connection


class Closed:
    """Counts answers; each one is followed by the next request at once."""

    def __init__(self, requests: list[bytes], status: int) -> None:
        self._next, self._status = cycle(requests), status
        self.answered = self.failed = 0
        self.is_over = False

    async def run(self, port: int, seconds: float, connections: int) -> dict[str, float]:
        """Return {"requests", "failed", "seconds"}."""
        opened = [await Connection.open(port, self.take) for _ in range(connections)]
        began = time.perf_counter()
        for connection in opened:
            connection.send(next(self._next))
        await asyncio.sleep(seconds)
        self.is_over = True
        took = time.perf_counter() - began
        for connection in opened:
            connection.close()
        return {"requests": self.answered, "failed": self.failed, "seconds": took}

    def take(self, connection: Connection, status: int) -> None:
        if self.is_over:
            return
        self.answered += 1
        self.failed += status != self._status
        if status:
            connection.send(next(self._next))
