"""Turns at a vendor that takes so many requests a second: over all processes and servers.

Each request reserves the next free moment of its account, in one statement. What waits too long is
refused at once and reserves nothing. A `Retry-After` of the vendor holds everybody: it moves the
next free moment, and those who have reserved one before it was known take another.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from hashlib import blake2b
from typing import Final

from bbops.base.host import Host
from bbops.runtime.values.failures import HttpFailure

LONGEST_SECONDS: Final = 20.0
"""How long a request may wait for its turn."""

MOST_HELD_SECONDS: Final = 300.0
_TAKE: Final = (
    "INSERT INTO _bbops_pace (account, free) VALUES (?, ?) ON CONFLICT (account) DO UPDATE"
    " SET free = CASE WHEN _bbops_pace.free > ? THEN _bbops_pace.free + ? ELSE ? END"
    " WHERE _bbops_pace.free <= ? RETURNING free"
)
_HOLD: Final = (
    "INSERT INTO _bbops_pace (account, free) VALUES (?, ?) ON CONFLICT (account) DO UPDATE"
    " SET free = excluded.free WHERE excluded.free > _bbops_pace.free"
)
_WHEN: Final = "SELECT free FROM _bbops_pace WHERE account = ?"


class Pace:
    """The turns of one account."""

    __slots__ = ("account", "addon", "doors", "gap", "held")

    def __init__(
        self, host: Host, addon: str, config: Mapping[str, str | None], per_second: float
    ) -> None:
        """Name the account without its secrets: two releases with the same share their turns."""
        settings = repr(sorted(config.items())).encode()
        self.account = f"{addon}:{blake2b(settings, digest_size=16).hexdigest()}"
        self.held = f"{self.account}:held"
        self.addon, self.gap = addon, 1 / per_second
        self.doors = host.unrecorded or host  # a turn counts once: a job that goes on takes another

    async def take(self) -> float:
        """Wait for a turn; return when it was, in seconds since 1970.

        Raises:
            HttpFailure: 429, others have all turns of the next 20 seconds.
        """
        now = self._now()
        latest = now + LONGEST_SECONDS
        while (turn := await self._reserve(now, latest)) > now:
            await asyncio.sleep(turn - now)
            now = self._now()
            if await self._held_until() <= now:
                break
        return turn

    async def hold(self, seconds: float) -> None:
        """Let nobody ask for a while: the vendor has said so."""
        until = self._now() + min(seconds, MOST_HELD_SECONDS)
        for row in (self.held, self.account):
            await self.doors.database.change(_HOLD, (row, until))

    async def _reserve(self, now: float, latest: float) -> float:
        rows = await self.doors.database.write(
            _TAKE, (self.account, now + self.gap, now, self.gap, now + self.gap, latest)
        )
        if not rows:
            raise await self._busy(now)
        turn: float = rows[0][0] - self.gap
        return turn

    async def _held_until(self) -> float:
        rows = await self.doors.database.read(_WHEN, (self.held,))
        return float(rows[0][0]) if rows else 0.0

    def _now(self) -> float:
        return self.doors.clock.now().timestamp()

    async def _busy(self, now: float) -> HttpFailure:
        rows = await self.doors.database.read(_WHEN, (self.account,))
        wait = max(0.0, rows[0][0] - now - LONGEST_SECONDS) if rows else 0.0
        message = f"'{self.addon}' has more requests waiting than its vendor takes in 20 s"
        return HttpFailure("httpFailed", message, answered=429, retry_after=wait)
