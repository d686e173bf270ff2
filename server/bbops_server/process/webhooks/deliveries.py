"""What one receiver was sent last, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import msgspec

from bbops_server.process.webhooks.list_file import hash_url, read_list, write_list
from bbops_server.process.webhooks.message import HookMessage

MAX_KEPT: Final = 200
"""Messages of one receiver."""

_MAX_ERROR: Final = 300

Outcome = Literal["waiting", "taken", "dropped"]


class HookDelivery(msgspec.Struct, frozen=True):
    """A message and its last try.

    Attributes:
        outcome: `waiting` is tried again, `dropped` is not.
        tried_at: None before the first try.
        status: what the receiver answered; None where it did not.
        error: why it was not taken, empty where it was.
    """

    message: HookMessage
    outcome: Outcome = "waiting"
    tried_at: datetime | None = None
    status: int | None = None
    error: str = ""

    def tell(self, receiver: str) -> dict[str, Any]:
        """Return what owners are told: all but what was said."""
        said = msgspec.json.decode(self.message.body, type=_MessageHead)
        return {
            "id": self.message.id, "receiver": receiver, "event": said.type,
            "project": said.data.get("project", ""), "at": self.message.at,
            "tries": self.message.tries, "outcome": self.outcome, "tried_at": self.tried_at,
            "status": self.status, "error": self.error,
        }  # fmt: skip


class _MessageHead(msgspec.Struct):
    type: str
    data: dict[str, Any]


class HookDeliveries:
    """One file in the state folder, beside what waits. `known` are the last, the newest last."""

    def __init__(self, folder: Path, url: str) -> None:
        """Take up what is known of an address."""
        self._file = folder / f"{hash_url(url)}.sent.json"
        self.known: Sequence[HookDelivery] = read_list(self._file, HookDelivery)

    def note(self, one: HookDelivery) -> None:
        """Remember a try, in the place of those before it of the same message."""
        others = [known for known in self.known if known.message.id != one.message.id]
        self.known = [*others, one][-MAX_KEPT:]
        write_list(self._file, self.known)


def show_receiver(url: str) -> str:
    """Return a receiver's address as it may be shown: many have a secret in their path."""
    parts = urlsplit(url)
    has_more = parts.path.strip("/") or parts.query
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{'/…' if has_more else ''}"


def describe_error(error: Exception, url: str) -> str:
    """Return why a try has failed, without the address, at a bearable length."""
    said = str(error) or type(error).__name__
    return said.replace(url, show_receiver(url))[:_MAX_ERROR]
