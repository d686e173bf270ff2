"""Remember for a moment what keys were found to open: an agent asks again and again with one."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final, Generic, TypeVar

V = TypeVar("V")

LASTS: Final = timedelta(seconds=5)
"""Another server on the same PostgreSQL may have changed it since."""
MOST: Final = 20_000


class Remembered(Generic[V]):
    """What was found, by the hashes of keys. Safe to use from threads."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[object, datetime, V]] = {}

    def get(self, hashed: str, edition: object, now: datetime) -> V | None:
        """Return what was found in this edition of the store, a moment ago."""
        found = self._kept.get(hashed)
        if found is None or found[0] is not edition or found[1] <= now:
            return None
        return found[2]

    def keep(self, hashed: str, value: V, edition: object, now: datetime, until: datetime) -> None:
        """Keep what was found, `until` at most; `edition` is from before it was looked up."""
        if len(self._kept) >= MOST:
            self._kept = {}
        self._kept[hashed] = edition, min(now + LASTS, until), value
