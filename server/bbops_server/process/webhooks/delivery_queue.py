"""The way to one receiver: what waits for it, and what it was sent."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Final

import msgspec

from bbops_server.process.webhooks.deliveries import HookDeliveries, HookDelivery
from bbops_server.process.webhooks.message import HookMessage
from bbops_server.process.webhooks.queue import MessageQueue
from bbops_server.process.webhooks.sender import now

MAX_AGE: Final = timedelta(days=1)
"""A message that is older is not tried again."""


class DeliveryQueue:
    """One receiver's, by its address.

    `turn` is held while a message is sent and settled: what comes of one try is never taken for
    what came of another.
    """

    def __init__(self, folder: Path, url: str) -> None:
        self.queue, self._sent = MessageQueue(folder, url), HookDeliveries(folder, url)
        self.turn = asyncio.Lock()

    def deliveries(self) -> Iterator[HookDelivery]:
        """Yield the last messages, also those that were not tried yet."""
        yield from self._sent.known
        ids = {one.message.id for one in self._sent.known}
        yield from (HookDelivery(one) for one in self.queue.waiting if one.id not in ids)

    def settle(self, found: HookDelivery) -> HookDelivery:
        """Remember a try; what is to be tried again stays in the queue.

        Returns:
            The try, `dropped` where it was the last: nothing waits, or it has waited too long.
        """
        message = found.message
        is_late = now() - message.at > MAX_AGE
        if found.outcome == "waiting" and (is_late or not self._waits(message)):
            found = msgspec.structs.replace(found, outcome="dropped")
        if found.outcome == "waiting":
            self.queue.replace(message)
        else:
            self.queue.drop(message)
        self._sent.note(found)
        return found

    def _waits(self, message: HookMessage) -> bool:
        return any(one.id == message.id for one in self.queue.waiting)
