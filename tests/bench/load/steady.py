"""A fixed number of requests per second, however slowly they are answered.

Latency counts from the moment a request is sent, or would be sent if a connection were free: a
server that stalls is seen by all requests that fall into the stall, not by one (no coordinated
omission). Delays of this process do not count: its timer is up to a millisecond late, and later
while others use its core.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque

from tests.bench.load.connection import Connection

PATIENCE_SECONDS = 5.0
"""How long the last answers may take."""


class Steady:
    """Sends each request at its time, by a connection that is free then or next."""

    def __init__(self, request: bytes, status: int) -> None:
        self._request, self._status = request, status
        self._free: list[Connection] = []
        self._late: deque[float] = deque()
        self.latencies: list[float] = []
        self.failed = 0

    async def run(
        self, port: int, seconds: float, connections: int, rate: float
    ) -> dict[str, float]:
        """Return {"requests", "failed", "p50", "p99", "max"}, times in milliseconds."""
        opened = [await Connection.open(port, self.take) for _ in range(connections)]
        self._free = list(opened)
        count = int(seconds * rate)
        await self.fire_all(count, rate)
        until = time.perf_counter() + PATIENCE_SECONDS
        while len(self.latencies) + self.failed < count and time.perf_counter() < until:
            await asyncio.sleep(0.01)
        for connection in opened:
            connection.close()
        return self.summary(count)

    async def fire_all(self, count: int, rate: float) -> None:
        began, sent = time.perf_counter() + 0.05, 0
        while sent < count:
            now = time.perf_counter()
            while sent < count and began + sent / rate <= now:
                self.fire(time.perf_counter())
                sent += 1
            await asyncio.sleep(max(0.0, began + sent / rate - time.perf_counter()))

    def fire(self, wanted_at: float) -> None:
        """Send a request, or queue it until a connection is free."""
        if not self._free:
            self._late.append(wanted_at)
            return
        connection = self._free.pop()
        connection.sent_at = wanted_at
        connection.send(self._request)

    def take(self, connection: Connection, status: int) -> None:
        if status == self._status:
            self.latencies.append(time.perf_counter() - connection.sent_at)
        else:
            self.failed += 1
        if not status:
            return
        self._free.append(connection)
        if self._late:
            self.fire(self._late.popleft())

    def summary(self, count: int) -> dict[str, float]:
        ordered = sorted(self.latencies) or [0.0]

        def at(share: float) -> float:
            return 1000 * ordered[min(len(ordered) - 1, int(len(ordered) * share))]

        failed = count - len(self.latencies)
        return {
            "requests": count, "failed": failed, "p50": at(0.5), "p99": at(0.99), "max": at(1.0),
        }  # fmt: skip
