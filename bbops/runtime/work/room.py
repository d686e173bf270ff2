"""Refuse more work where nobody does what there is: a queue that only grows helps nobody."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from bbops.base.host import Database
from bbops.runtime.values.failures import Unavailable

MOST_READY: Final = 1_000_000
"""Jobs that wait for a worker, and what is to become of events, of one project."""

LOOK_MS: Final = 10_000
"""How long it counts whether there was room: to look costs more the more jobs there are."""

_RETRY_SECONDS: Final = 60
_IS_FULL: Final = (
    "SELECT EXISTS (SELECT 1 FROM _bbops_jobs WHERE state = 'ready' LIMIT 1 OFFSET ?)"
    " OR (SELECT coalesce(max(id) - min(id), 0) FROM _bbops_outbox) >= ?"
)


class Room:
    """Knows whether a project's queue has room."""

    def __init__(self, database: Database, now: Callable[[], int], most: int = MOST_READY) -> None:
        self._database, self._now, self._most = database, now, most
        self._looked, self._is_full = -LOOK_MS, False

    async def require(self) -> None:
        """Do nothing where there is room.

        Raises:
            Unavailable: 503 `queueFull`, there is none.
        """
        now = self._now()
        if now - self._looked >= LOOK_MS:
            self._looked = now
            rows = await self._database.read(_IS_FULL, (self._most - 1, self._most))
            self._is_full = bool(rows[0][0])
        if self._is_full:
            raise Unavailable(
                "queueFull", f"{self._most:,} jobs wait to be run",
                hint="look for what they wait for with 'bbops jobs list'",
                retry_seconds=_RETRY_SECONDS,
            )  # fmt: skip
