"""Deliveries of webhooks as people see them; what was received can run again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from bbops.base.host import Database
from bbops.runtime.work.engine import now_ms
from bbops.runtime.work.statements import EMIT
from bbops.runtime.work.webhooks import webhook_event

TRIGGERS: Final = "triggers/"
"""Begins the name of a delivery that was received."""

_RECEIVED: Final = "SELECT hook, name, received_at FROM _bbops_received"
_OF: Final = "WHERE hook = ? AND name = ?"


@dataclass(frozen=True, slots=True)
class Received:
    """A delivery that another service has sent.

    Attributes:
        id: such as `triggers/paid@evt_1`.
        at: when it came, in milliseconds since 1970.
    """

    id: str
    trigger: str
    at: int


@dataclass(frozen=True, slots=True)
class ReceivedStory:
    """All that is kept of one; of each header its name, value, and whether it is the signature."""

    delivery: Received
    headers: Sequence[tuple[str, str, bool]]
    body: str


class ReceivedLog:
    """What a project has received in the last 30 days."""

    def __init__(self, database: Database, *, now: Callable[[], int] = now_ms) -> None:
        self._database, self._now = database, now

    async def list(self, most: int) -> list[Received]:
        """Return deliveries, the newest first."""
        sql = f"{_RECEIVED} ORDER BY received_at DESC LIMIT ?"
        return [_received(row) for row in await self._database.read(sql, (most,))]

    async def show(self, delivery: str) -> ReceivedStory | None:
        """Return what is kept of a delivery; None where there is none of the name."""
        sql = f"SELECT hook, name, received_at, headers, body FROM _bbops_received {_OF}"
        rows = await self._database.read(sql, _split(delivery))
        if not rows:
            return None
        *head, headers, body = rows[0]
        found = msgspec.json.decode(headers, type=list[tuple[str, str, bool]])
        return ReceivedStory(_received(head), found, body)

    async def replay(self, delivery: str) -> str | None:
        """Run a delivery again, as a new job; return its name, None without the delivery."""
        hook, name = _split(delivery)
        rows = await self._database.read(f"SELECT body FROM _bbops_received {_OF}", (hook, name))
        if not rows:
            return None
        given = webhook_event(hook), name, rows[0][0], self._now(), "", 0
        ((number,),) = await self._database.write(f"{EMIT} RETURNING id", given)
        return f"{TRIGGERS}{hook}@{number}"


def _received(row: Sequence[Any]) -> Received:
    hook, name, at = row
    return Received(f"{TRIGGERS}{hook}@{name}", hook, at)


def _split(delivery: str) -> tuple[str, str]:
    """Return the trigger of a delivery, and what its service calls it."""
    hook, _, name = delivery.removeprefix(TRIGGERS).partition("@")
    return hook, name
