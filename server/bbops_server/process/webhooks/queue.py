"""The messages that a receiver has not accepted yet, in order, in a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bbops_server.process.webhooks.list_file import hash_url, read_list, write_list
from bbops_server.process.webhooks.message import HookMessage

MAX_WAITING: Final = 1_000
"""The most queued messages of a receiver. Above it, the oldest message is dropped."""


class MessageQueue:
    """The file with a receiver's queued messages. `waiting` are these messages in order."""

    def __init__(self, folder: Path, url: str) -> None:
        """Read the queue of a URL; empty if the file is damaged."""
        self._file = folder / f"{hash_url(url)}.json"
        self.waiting: Sequence[HookMessage] = read_list(self._file, HookMessage)

    @property
    def first(self) -> HookMessage | None:
        """The next message; None if the queue is empty."""
        return self.waiting[0] if self.waiting else None

    def put(self, message: HookMessage) -> bool:
        """Append a message; return False if the oldest message was dropped to make room."""
        has_room = len(self.waiting) < MAX_WAITING
        self._write([*self.waiting[0 if has_room else 1 :], message])
        return has_room

    def drop(self, message: HookMessage) -> None:
        """Remove a message that was accepted or dropped."""
        self._write([queued for queued in self.waiting if queued.id != message.id])

    def replace(self, message: HookMessage) -> None:
        """Store a message after a failed attempt."""
        self._write([
            message if queued.id == message.id else queued for queued in self.waiting
        ])  # fmt: skip

    def _write(self, waiting: Sequence[HookMessage]) -> None:
        self.waiting = waiting
        write_list(self._file, waiting)
