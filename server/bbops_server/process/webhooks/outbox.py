"""Send what happens to whoever wants to know: in order, at least once, and never in the way.

A receiver that does not answer is tried again for a day; meanwhile its messages wait in a file.
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
"""The event of a test."""

_log = logging.getLogger(__name__)


class WebhookOutbox:
    """The messages to all receivers that the settings name, as they are by then."""

    def __init__(self, settings: Callable[[], Settings]) -> None:
        self._settings, self._sender = settings, HookSender(settings)
        self._lines: dict[str, DeliveryQueue] = {}
        self._sending: dict[str, asyncio.Task[None]] = {}

    def tell(self, event: str, data: Mapping[str, Any]) -> None:
        """Let each receiver of an event know soon; never waits for one."""
        for hook in self._settings().webhooks:
            if event in hook.events:
                if not self._line(hook).queue.put(_create_message(event, data)):
                    shown = show_receiver(hook.url)
                    _log.error(
                        "webhook '%s' does not accept messages: the oldest one is dropped", shown
                    )
                self._send(hook)

    async def run(self) -> None:
        """Send what waits since before the server was started, then what comes; until cancelled."""
        try:
            for hook in self._settings().webhooks:
                self._send(hook)
            await asyncio.Event().wait()
        finally:
            for task in self._sending.values():
                task.cancel()
            await asyncio.gather(*self._sending.values(), return_exceptions=True)
            await self._sender.close()

    # ---- for who looks after it
    def messages(self, limit: int) -> list[dict[str, Any]]:
        """Return the last messages to all receivers and their last tries, newest first."""
        found = sorted(self._all(), key=lambda one: one[1].message.at, reverse=True)
        return [one.tell(show_receiver(hook.url)) for hook, one in found[:limit]]

    async def test(self, wanted: str) -> list[dict[str, Any]]:
        """Send a ping now, once, and return what came back from each receiver.

        Args:
            wanted: a part of the address as it is shown; empty for every receiver.

        Raises:
            ServerError: there is no such receiver.
        """
        hooks = self._pick(wanted)
        data = {"server": self._settings().control_url}
        return list(
            await asyncio.gather(*(self._try(hook, _create_message(PING, data)) for hook in hooks))
        )

    async def resend(self, wanted: str) -> dict[str, Any]:
        """Send a message once more, now, with its id, and return what came back.

        Args:
            wanted: the id of the message, or how it begins.

        Raises:
            ServerError: there is no such message, or several begin like that.
        """
        start = f"msg_{wanted.removeprefix('msg_')}"
        every = ((hook, one.message) for hook, one in self._all())
        found = [one for one in every if one[1].id.startswith(start)]
        if len(found) != 1:
            said = "several messages begin with" if found else "there is no message"
            raise ServerError(f"{said} '{wanted}'", hint="'bbops hooks list' shows the last ones")
        return await self._try(*found[0])

    async def _try(self, hook: Webhook, message: HookMessage) -> dict[str, Any]:
        line = self._line(hook)
        async with line.turn:
            found = line.settle(await self._sender.send(hook, message))
        return found.tell(show_receiver(hook.url))

    def _all(self) -> Iterator[tuple[Webhook, HookDelivery]]:
        for hook in self._settings().webhooks:
            for one in self._line(hook).deliveries():
                yield hook, one

    def _pick(self, wanted: str) -> list[Webhook]:
        every = self._settings().webhooks
        found = [one for one in every if wanted in show_receiver(one.url)]
        if not every:
            raise ServerError("no webhooks are configured: the server's file has no 'webhooks'")
        if not found:
            listed = ", ".join(sorted({show_receiver(one.url) for one in every}))
            raise ServerError(f"there is no receiver '{wanted}'", hint=f"there is {listed}")
        return found

    # ---- sending
    def _line(self, hook: Webhook) -> DeliveryQueue:
        if hook.url not in self._lines:
            self._lines[hook.url] = DeliveryQueue(self._settings().state / "webhooks", hook.url)
        return self._lines[hook.url]

    def _send(self, hook: Webhook) -> None:
        """Begin to send to a receiver, unless that is under way."""
        task = self._sending.get(hook.url)
        if task is None or task.done():
            self._sending[hook.url] = asyncio.create_task(self._empty(hook.url))

    async def _empty(self, url: str) -> None:
        while (hook := self._find(url)) is not None:
            line = self._line(hook)
            async with line.turn:
                message = line.queue.first
                if message is None:
                    return
                found = line.settle(await self._sender.send(hook, message))
            if found.outcome == "waiting":
                shown = show_receiver(url)
                _log.warning("webhook '%s': %s; it is tried again", shown, found.error)
                await asyncio.sleep(_pause(message.tries))

    def _find(self, url: str) -> Webhook | None:
        """Return a receiver as the settings have it now; None when they name it no more."""
        return next((one for one in self._settings().webhooks if one.url == url), None)


def _create_message(event: str, data: Mapping[str, Any]) -> HookMessage:
    at = now()
    return HookMessage(f"msg_{secrets.token_hex(16)}", write_body(event, at, data), at)


def _pause(tries: int) -> float:
    return min(FIRST_PAUSE_SECONDS * 2.0 ** min(tries, 20), MAX_PAUSE_SECONDS)
