"""Webhooks of the stand-in for GitHub: signed, and lost, doubled or late if a test wants that."""

from __future__ import annotations

import hmac
import json
import queue
import threading
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import httpx

from tests.support.github.facts import Hook


@dataclass(frozen=True)
class Delivery:
    """A webhook that is sent; `status` is the receiver's, 0 without an answer."""

    hook: Hook
    event: str
    body: bytes
    id: str = field(default_factory=lambda: str(uuid.uuid4()))

    @property
    def signature(self) -> str:
        return hmac.new(self.hook.secret.encode(), self.body, sha256).hexdigest()


def github_headers(delivery: Delivery) -> dict[str, str]:
    return {
        "content-type": "application/json", "user-agent": "GitHub-Hookshot/044aadd",
        "x-github-event": delivery.event, "x-github-delivery": delivery.id,
        "x-hub-signature-256": f"sha256={delivery.signature}",
    }  # fmt: skip


class Webhooks:
    """Sends events to addresses, in a thread of its own.

    Attributes:
        lost: the number of next deliveries to drop.
        doubled: the number of next deliveries to send twice.
        is_held: whether deliveries wait for `release`.
        sent: deliveries with the receiver's status, 0 without an answer.
    """

    def __init__(self, headers: Callable[[Delivery], dict[str, str]] = github_headers) -> None:
        self._headers = headers
        self.hooks: list[Hook] = []
        self.lost = self.doubled = 0
        self.is_held = False
        self.sent: list[tuple[Delivery, int]] = []
        self._held: list[Delivery] = []
        self._queue: queue.SimpleQueue[Delivery | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def emit(self, event: str, body: Mapping[str, Any], repository: str) -> None:
        """Send an event to the webhooks that want it."""
        data = json.dumps({**body, "repository": {"full_name": repository}}).encode()
        for hook in self.hooks:
            if event in hook.events or "*" in hook.events:
                self._deliver(Delivery(hook, event, data))

    def release(self, *, is_reversed: bool = False) -> None:
        """Send the held deliveries, in order or from the last to the first."""
        held, self._held = self._held, []
        for delivery in reversed(held) if is_reversed else held:
            self._queue.put(delivery)

    def stop(self) -> None:
        """End the thread."""
        self._queue.put(None)
        self._thread.join()

    def _deliver(self, delivery: Delivery) -> None:
        if self.lost:
            self.lost -= 1
            return
        copies = 1
        if self.doubled:
            self.doubled, copies = self.doubled - 1, 2
        for _ in range(copies):
            if self.is_held:
                self._held.append(delivery)
            else:
                self._queue.put(delivery)

    def _run(self) -> None:
        with httpx.Client(timeout=60) as client:
            while (delivery := self._queue.get()) is not None:
                self.sent.append((delivery, self._send(client, delivery)))

    def _send(self, client: httpx.Client, delivery: Delivery) -> int:
        headers = self._headers(delivery)
        try:
            answer = client.post(delivery.hook.url, content=delivery.body, headers=headers)
        except httpx.TransportError:
            return 0
        return answer.status_code
