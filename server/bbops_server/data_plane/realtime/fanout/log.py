"""The messages that one topic keeps: numbered, and known by an epoch that is its own."""

from __future__ import annotations

import secrets
from collections import deque
from typing import Final

from bbops_server.data_plane.realtime.fanout.frames import Numbered
from bbops_server.data_plane.realtime.limits import MOST_LOG_BYTES

_EPOCH_BYTES: Final = 6


class Log:
    """Keeps the newest messages. Numbers go on for as long as it lives; then the epoch changes."""

    __slots__ = ("_kept", "bytes", "epoch", "offset", "seconds", "used_at")

    def __init__(self) -> None:
        self.epoch, self.offset = secrets.token_hex(_EPOCH_BYTES), 0
        self._kept: deque[tuple[int, float, bytes]] = deque()
        self.bytes, self.used_at, self.seconds = 0, 0.0, 0.0

    def add(self, data: bytes, now: float, size: int, seconds: float) -> int:
        """Keep a message and return its number; the oldest make room for it."""
        self.offset += 1
        self.used_at, self.seconds = now, seconds
        if size:
            self._kept.append((self.offset, now, data))
            self.bytes += len(data)
        while self._kept and (len(self._kept) > size or self.bytes > MOST_LOG_BYTES):
            self._drop()
        self.trim(now)
        return self.offset

    def since(self, epoch: str, offset: int, now: float) -> list[Numbered] | None:
        """Return what was missed since a number; None where that cannot be said."""
        self.trim(now)
        if epoch != self.epoch or not 0 <= offset <= self.offset:
            return None
        missed = [(number, data) for number, _, data in self._kept if number > offset]
        return missed if len(missed) == self.offset - offset else None

    def part(self, after: int | None, most: int, now: float, *, is_reverse: bool) -> list[Numbered]:
        """Return at most so many messages behind a number, or before it."""
        self.trim(now)
        found = [(number, data) for number, _, data in self._kept]
        if after is not None:
            found = [one for one in found if (one[0] < after if is_reverse else one[0] > after)]
        return (found[::-1] if is_reverse else found)[:most]

    def trim(self, now: float) -> None:
        """Forget what is too old."""
        while self._kept and self._kept[0][1] <= now - self.seconds:
            self._drop()

    def empty(self) -> None:
        """Forget every message; who comes back cannot recover."""
        while self._kept:
            self._drop()

    def _drop(self) -> None:
        self.bytes -= len(self._kept.popleft()[2])
