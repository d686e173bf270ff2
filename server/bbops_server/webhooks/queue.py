"""The messages that one receiver has not taken yet, in order, kept over a restart."""

from __future__ import annotations

import hashlib
import logging
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from bbops.disk import replace_file
from bbops_server.webhooks.message import Message

MOST_WAITING: Final = 1_000
"""Messages of one receiver; of more the oldest is dropped."""

_log = logging.getLogger(__name__)


class Queue:
    """One file in the state folder; it holds no secret."""

    def __init__(self, folder: Path, url: str) -> None:
        """Take up what waits for an address; what is damaged is forgotten."""
        self._file = folder / f"{hashlib.sha256(url.encode()).hexdigest()[:16]}.json"
        self._url = url
        self._waiting: list[Message] = []
        with suppress(OSError, msgspec.MsgspecError):
            self._waiting = msgspec.json.decode(self._file.read_bytes(), type=list[Message])

    @property
    def first(self) -> Message | None:
        """What is to be sent next."""
        return self._waiting[0] if self._waiting else None

    def put(self, message: Message) -> None:
        """Add a message at the end."""
        if len(self._waiting) >= MOST_WAITING:
            self._waiting.pop(0)
            _log.error("webhook '%s' takes nothing: the oldest message is dropped", self._url)
        self._waiting.append(message)
        self._keep()

    def drop_first(self) -> None:
        """Forget what was taken, or is not sent any more."""
        self._waiting.pop(0)
        self._keep()

    def replace_first(self, message: Message) -> None:
        """Remember a try that has failed."""
        self._waiting[0] = message
        self._keep()

    def _keep(self) -> None:
        """Write it down; a disk that takes nothing costs what a restart would have sent."""
        try:
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_file(self._file, msgspec.json.encode(self._waiting))
        except OSError as error:
            reason = (error.strerror or "no reason given").lower()
            _log.error("cannot write '%s': %s", self._file, reason)
