"""The messages that one receiver has not taken yet, in order, kept over a restart."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bbops_server.process.webhooks.list_file import hash_url, read_list, write_list
from bbops_server.process.webhooks.message import HookMessage

MAX_WAITING: Final = 1_000
"""Messages of one receiver; of more the oldest is dropped."""


class MessageQueue:
    """One file in the state folder; `waiting` are the messages in order."""

    def __init__(self, folder: Path, url: str) -> None:
        """Take up what waits for an address; what is damaged is forgotten."""
        self._file = folder / f"{hash_url(url)}.json"
        self.waiting: Sequence[HookMessage] = read_list(self._file, HookMessage)

    @property
    def first(self) -> HookMessage | None:
        """What is to be sent next."""
        return self.waiting[0] if self.waiting else None

    def put(self, message: HookMessage) -> bool:
        """Add a message at the end; return whether there was room, else the oldest is dropped."""
        has_room = len(self.waiting) < MAX_WAITING
        self._keep([*self.waiting[0 if has_room else 1 :], message])
        return has_room

    def drop(self, message: HookMessage) -> None:
        """Forget what was taken, or is not sent any more."""
        self._keep([one for one in self.waiting if one.id != message.id])

    def replace(self, message: HookMessage) -> None:
        """Remember a try that has failed."""
        self._keep([message if one.id == message.id else one for one in self.waiting])

    def _keep(self, waiting: Sequence[HookMessage]) -> None:
        self.waiting = waiting
        write_list(self._file, waiting)
