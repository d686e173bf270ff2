"""The queue of a receiver, and lists in files of the state folder."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from bbops.base.disk import replace_file
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


# ---- Lists in files of the state folder: read once, and written at each change, without secrets

T = TypeVar("T")

_log = logging.getLogger(__name__)


def hash_url(url: str) -> str:
    """Return a hash that identifies a receiver without exposing secrets in its URL."""
    return hashlib.sha256(url.encode()).hexdigest()[:16]


def read_list(file: Path, kind: type[T]) -> list[T]:
    """Read a list; empty if the file is missing or damaged."""
    with suppress(OSError, msgspec.MsgspecError):
        return msgspec.json.decode(file.read_bytes(), type=list[kind])  # type: ignore[valid-type]
    return []


def write_list(file: Path, items: Sequence[Any]) -> None:
    """Write a list. If the disk is full, the error is logged, and a restart loses the list."""
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(file, msgspec.json.encode(items))
    except OSError as error:
        _log.error("cannot write '%s': %s", file, (error.strerror or "no reason given").lower())
