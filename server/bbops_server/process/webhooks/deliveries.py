"""The last deliveries to a receiver, with their outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import msgspec

from bbops_server.process.webhooks.message import HookMessage
from bbops_server.process.webhooks.queue import hash_url, read_list, write_list

MAX_KEPT: Final = 200
"""The most stored messages of a receiver."""

_MAX_ERROR: Final = 300

Outcome = Literal["waiting", "taken", "dropped"]


class HookDelivery(msgspec.Struct, frozen=True):
    """A message and its last attempt.

    Attributes:
        outcome: `waiting` for the next attempt, `taken` by the receiver, or `dropped`.
        tried_at: the time of the last attempt; None before the first.
        status: the receiver's status; None without a response.
        error: the reason of the failure; empty after a success.
    """

    message: HookMessage
    outcome: Outcome = "waiting"
    tried_at: datetime | None = None
    status: int | None = None
    error: str = ""

    def summarize(self, receiver: str) -> dict[str, Any]:
        """Return the delivery for owners, without the message's data."""
        head = msgspec.json.decode(self.message.body, type=_MessageHead)
        return {
            "id": self.message.id, "receiver": receiver, "event": head.type,
            "project": head.data.get("project", ""), "at": self.message.at,
            "tries": self.message.tries, "outcome": self.outcome, "tried_at": self.tried_at,
            "status": self.status, "error": self.error,
        }  # fmt: skip


class _MessageHead(msgspec.Struct):
    type: str
    data: dict[str, Any]


class HookDeliveries:
    """The file with a receiver's last deliveries. `known` are these deliveries, newest last."""

    def __init__(self, folder: Path, url: str) -> None:
        """Read the deliveries to a URL."""
        self._file = folder / f"{hash_url(url)}.sent.json"
        self.known: Sequence[HookDelivery] = read_list(self._file, HookDelivery)

    def record(self, delivery: HookDelivery) -> None:
        """Store a delivery, and replace the earlier attempt of the same message."""
        others = [known for known in self.known if known.message.id != delivery.message.id]
        self.known = [*others, delivery][-MAX_KEPT:]
        write_list(self._file, self.known)


def show_receiver(url: str) -> str:
    """Return a receiver's URL without its path and query, which may contain secrets."""
    parts = urlsplit(url)
    has_more = parts.path.strip("/") or parts.query
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{'/…' if has_more else ''}"


def describe_error(error: Exception, url: str) -> str:
    """Return the reason of a failed attempt, shortened and without the URL."""
    message = str(error) or type(error).__name__
    return message.replace(url, show_receiver(url))[:_MAX_ERROR]
