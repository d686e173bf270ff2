"""The queue and the last deliveries of a receiver."""

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
"""The age above which a message is dropped."""


class DeliveryQueue:
    """The deliveries of a receiver, by its URL.

    `lock` is held from sending a message until `settle`, so that attempts do not overlap.
    """

    def __init__(self, folder: Path, url: str) -> None:
        self.queue, self._sent = MessageQueue(folder, url), HookDeliveries(folder, url)
        self.lock = asyncio.Lock()

    def deliveries(self) -> Iterator[HookDelivery]:
        """Yield the last deliveries, and those without an attempt."""
        yield from self._sent.known
        ids = {delivery.message.id for delivery in self._sent.known}
        waiting = (message for message in self.queue.waiting if message.id not in ids)
        yield from map(HookDelivery, waiting)

    def settle(self, delivery: HookDelivery) -> HookDelivery:
        """Record an attempt, and remove the message from the queue unless it is retried.

        Returns:
            The delivery; `dropped` if the message is not in the queue, or is too old.
        """
        message = delivery.message
        is_late = now() - message.at > MAX_AGE
        if delivery.outcome == "waiting" and (is_late or not self._is_queued(message)):
            delivery = msgspec.structs.replace(delivery, outcome="dropped")
        if delivery.outcome == "waiting":
            self.queue.replace(message)
        else:
            self.queue.drop(message)
        self._sent.record(delivery)
        return delivery

    def _is_queued(self, message: HookMessage) -> bool:
        return any(queued.id == message.id for queued in self.queue.waiting)
