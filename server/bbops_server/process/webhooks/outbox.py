"""Send events to the receivers of the settings: in order, at least once, in the background.

A failing receiver is retried for a day, while its messages wait in a file.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from bbops.base.errors import ServerError
from bbops_server.process.webhooks.deliveries import HookDelivery, show_receiver
from bbops_server.process.webhooks.delivery_queue import DeliveryQueue
from bbops_server.process.webhooks.message import HookMessage, write_body
from bbops_server.process.webhooks.sender import HookSender, now
from bbops_server.settings import Settings, Webhook

FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 5.0, 3_600.0
PING: Final = "ping"
"""The event of a test message."""

_log = logging.getLogger(__name__)


class WebhookOutbox:
    """The messages to all receivers. The settings are read at each use."""

    def __init__(self, settings: Callable[[], Settings]) -> None:
        self._settings, self._sender = settings, HookSender(settings)
        self._queues: dict[str, DeliveryQueue] = {}
        self._sending: dict[str, asyncio.Task[None]] = {}

    def enqueue(self, event: str, data: Mapping[str, Any]) -> None:
        """Enqueue a message for each receiver of an event. It does not wait for the sending."""
        for hook in self._settings().webhooks:
            if event in hook.events:
                if not self._queue(hook).queue.put(_create_message(event, data)):
                    shown = show_receiver(hook.url)
                    _log.error(
                        "webhook '%s' does not accept messages: the oldest one is dropped", shown
                    )
                self._send(hook)

    async def run(self) -> None:
        """Send the stored messages, then new messages, until cancelled."""
        try:
            for hook in self._settings().webhooks:
                self._send(hook)
            await asyncio.Event().wait()
        finally:
            for task in self._sending.values():
                task.cancel()
            await asyncio.gather(*self._sending.values(), return_exceptions=True)
            await self._sender.close()

    # ---- commands of owners
    def messages(self, limit: int) -> list[dict[str, Any]]:
        """Return the last deliveries to all receivers, newest first."""
        deliveries = sorted(self._all(), key=lambda pair: pair[1].message.at, reverse=True)
        return [
            delivery.summarize(show_receiver(hook.url)) for hook, delivery in deliveries[:limit]
        ]  # fmt: skip

    async def test(self, part: str) -> list[dict[str, Any]]:
        """Send one ping to each receiver now, and return the deliveries.

        Args:
            part: a part of the receiver's shown URL; empty for all receivers.

        Raises:
            ServerError: there is no such receiver.
        """
        hooks = self._find_hooks(part)
        data = {"server": self._settings().control_url}
        return list(
            await asyncio.gather(*(self._try(hook, _create_message(PING, data)) for hook in hooks))
        )

    async def resend(self, prefix: str) -> dict[str, Any]:
        """Send a message again now, with the same id, and return the delivery.

        Args:
            prefix: the id of the message, or its beginning.

        Raises:
            ServerError: no message or several messages have this prefix.
        """
        start = f"msg_{prefix.removeprefix('msg_')}"
        messages = ((hook, delivery.message) for hook, delivery in self._all())
        matches = [(hook, message) for hook, message in messages if message.id.startswith(start)]
        if len(matches) != 1:
            problem = "several messages begin with" if matches else "there is no message"
            raise ServerError(
                f"{problem} '{prefix}'", hint="'bbops hooks list' shows the last ones"
            )
        return await self._try(*matches[0])

    async def _try(self, hook: Webhook, message: HookMessage) -> dict[str, Any]:
        queue = self._queue(hook)
        async with queue.lock:
            delivery = queue.settle(await self._sender.send(hook, message))
        return delivery.summarize(show_receiver(hook.url))

    def _all(self) -> Iterator[tuple[Webhook, HookDelivery]]:
        for hook in self._settings().webhooks:
            for delivery in self._queue(hook).deliveries():
                yield hook, delivery

    def _find_hooks(self, part: str) -> list[Webhook]:
        hooks = self._settings().webhooks
        matches = [hook for hook in hooks if part in show_receiver(hook.url)]
        if not hooks:
            raise ServerError("no webhooks are configured: the server's file has no 'webhooks'")
        if not matches:
            listed = ", ".join(sorted({show_receiver(hook.url) for hook in hooks}))
            raise ServerError(f"there is no receiver '{part}'", hint=f"there is {listed}")
        return matches

    # ---- sending
    def _queue(self, hook: Webhook) -> DeliveryQueue:
        if hook.url not in self._queues:
            self._queues[hook.url] = DeliveryQueue(self._settings().state / "webhooks", hook.url)
        return self._queues[hook.url]

    def _send(self, hook: Webhook) -> None:
        """Start the task that sends to a receiver, unless it is running."""
        task = self._sending.get(hook.url)
        if task is None or task.done():
            self._sending[hook.url] = asyncio.create_task(self._send_queue(hook.url))

    async def _send_queue(self, url: str) -> None:
        while (hook := self._find(url)) is not None:
            queue = self._queue(hook)
            async with queue.lock:
                message = queue.queue.first
                if message is None:
                    return
                delivery = queue.settle(await self._sender.send(hook, message))
            if delivery.outcome == "waiting":
                shown = show_receiver(url)
                _log.warning("webhook '%s': %s; it is tried again", shown, delivery.error)
                await asyncio.sleep(_pause(message.tries))

    def _find(self, url: str) -> Webhook | None:
        """Return a receiver with its current settings; None if it was removed."""
        return next((hook for hook in self._settings().webhooks if hook.url == url), None)


def _create_message(event: str, data: Mapping[str, Any]) -> HookMessage:
    at = now()
    return HookMessage(f"msg_{secrets.token_hex(16)}", write_body(event, at, data), at)


def _pause(tries: int) -> float:
    return min(FIRST_PAUSE_SECONDS * 2.0 ** min(tries, 20), MAX_PAUSE_SECONDS)
