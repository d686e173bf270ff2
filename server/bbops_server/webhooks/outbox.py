"""Send what happens to whoever wants to know: in order, at least once, and never in the way.

A receiver that does not answer is tried again for a day; meanwhile its messages wait in a file.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from bbops.errors import BbopsError, ServerError
from bbops.host import HttpRequest
from bbops_server.host.http import Egress, OutsideHttp
from bbops_server.host.secrets import Secrets
from bbops_server.settings import Settings, Webhook
from bbops_server.webhooks.message import Message, read_secret, sign, write_body
from bbops_server.webhooks.queue import Queue

ANSWER_SECONDS: Final = 15.0
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 5.0, 3_600.0
LONGEST: Final = timedelta(days=1)
"""A message that is older is not tried again."""

_log = logging.getLogger(__name__)


class Outbox:
    """The messages to all receivers that the settings name, as they are by then."""

    def __init__(self, settings: Callable[[], Settings]) -> None:
        self._settings, self._http = settings, OutsideHttp()
        self._queues: dict[str, Queue] = {}
        self._sending: dict[str, asyncio.Task[None]] = {}

    def tell(self, event: str, data: Mapping[str, Any]) -> None:
        """Let each receiver of an event know soon; never waits for one."""
        at = _now()
        body = write_body(event, at, data)
        for hook in self._settings().webhooks:
            if event in hook.events:
                self._queue(hook).put(Message(f"msg_{secrets.token_hex(16)}", body, at))
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
            await self._http.close()

    def _queue(self, hook: Webhook) -> Queue:
        if hook.url not in self._queues:
            self._queues[hook.url] = Queue(self._settings().state / "webhooks", hook.url)
        return self._queues[hook.url]

    def _send(self, hook: Webhook) -> None:
        """Begin to send to a receiver, unless that is under way."""
        task = self._sending.get(hook.url)
        if task is None or task.done():
            self._sending[hook.url] = asyncio.create_task(self._empty(hook.url))

    async def _empty(self, url: str) -> None:
        queue = self._queues.get(url)
        while (hook := self._find(url)) is not None:
            queue = queue or self._queue(hook)
            message = queue.first
            if message is None:
                return
            failure = await self._try(hook, message)
            if not failure or _now() - message.at > LONGEST:
                queue.drop_first()
            else:
                queue.replace_first(_failed(message))
                _log.warning("webhook '%s': %s; it is tried again", url, failure)
                await asyncio.sleep(_pause(message.tries))

    def _find(self, url: str) -> Webhook | None:
        """Return a receiver as the settings have it now; None when they name it no more."""
        return next((one for one in self._settings().webhooks if one.url == url), None)

    async def _try(self, hook: Webhook, message: Message) -> str:
        """Send a message; return why it was not taken, empty when it was."""
        try:
            self._http.allow(Egress(self._settings().egress))
            headers = sign(message, _now(), read_secret(self._secret(hook.secret_env)))
            body = message.body.encode()
            request = HttpRequest("POST", hook.url, headers, body, ANSWER_SECONDS)
            status = (await self._http.send(request)).status
        except BbopsError as error:
            return str(error)
        except Exception as error:  # noqa: BLE001 - whatever it is, the message is tried again
            return str(error) or type(error).__name__
        return "" if 200 <= status < 300 else f"it answered {status}"

    def _secret(self, name: str) -> str:
        found = os.environ.get(name)
        with suppress(BbopsError):
            found = found or Secrets(self._settings().state).get(name)
        if not found:
            raise ServerError(
                f"no value for {name}", hint=f"bbops env set {name} --of-server sets it"
            )
        return found


def _failed(message: Message) -> Message:
    return Message(message.id, message.body, message.at, message.tries + 1)


def _pause(tries: int) -> float:
    return min(FIRST_PAUSE_SECONDS * 2.0 ** min(tries, 20), LONGEST_PAUSE_SECONDS)


def _now() -> datetime:
    return datetime.now(UTC)  # noqa: TID251 - the server's own clock, no function runs here
