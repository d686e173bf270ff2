"""What a project has sent as people see it; it can be sent again, and receivers enabled again."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bbops.base.host import Database
from bbops.runtime.work.engine import now_ms
from bbops.runtime.work.messages import WEBHOOKS, SentWebhook
from bbops.runtime.work.outbox import enqueue
from bbops.runtime.work.receivers import Receiver
from bbops.runtime.work.values import NORMAL, NewJob

_SENT: Final = (
    "SELECT s.uid, s.webhook, s.receiver, s.state, s.tries, s.tried_at, s.error, m.event"
    " FROM _bbops_sent AS s LEFT JOIN _bbops_messages AS m ON m.id = s.message"
)


@dataclass(frozen=True, slots=True)
class Sent:
    """A message to one receiver, once it was tried.

    Attributes:
        id: such as `webhooks/partners@msg_1/7`, which is the name of its job, too.
        at: when it was tried last, in milliseconds since 1970.
    """

    id: str
    webhook: str
    receiver: str
    state: str
    tries: int
    at: int
    error: str
    event: str


@dataclass(frozen=True, slots=True)
class Tried:
    """One try: the status and 1 KB of the answer, or why there was none."""

    at: int
    status: int | None
    answer: str
    error: str


@dataclass(frozen=True, slots=True)
class SentStory:
    """A message to one receiver, its body, and all tries, the first one first."""

    sent: Sent
    body: str
    tries: Sequence[Tried]


class SentLog:
    """What a project has sent in the last 30 days, and to whom it sends."""

    def __init__(
        self, database: Database, webhooks: Mapping[str, SentWebhook], *,
        now: Callable[[], int] = now_ms,
    ) -> None:  # fmt: skip
        self._database, self._webhooks, self._now = database, webhooks, now

    async def show(self, delivery: str) -> SentStory | None:
        """Return a delivery with its tries; None where there is none of the name."""
        found = await self._database.read(f"{_SENT} WHERE s.uid = ?", (delivery,))
        if not found:
            return None
        rows = await self._database.read(
            "SELECT m.body FROM _bbops_sent AS s JOIN _bbops_messages AS m ON m.id = s.message"
            " WHERE s.uid = ?",
            (delivery,),
        )
        tries = await self._database.read(
            "SELECT at, status, answer, error FROM _bbops_tries WHERE uid = ? ORDER BY id",
            (delivery,),
        )
        body = rows[0][0] if rows else "null"
        return SentStory(_sent(found[0]), body, [Tried(*row) for row in tries])

    async def resend(self, delivery: str, token: str) -> str | None:
        """Send a message again, with its id; return the job, None without the delivery.

        Args:
            delivery: its name.
            token: is in the name of the job, and in no other one's.
        """
        rows = await self._database.read(
            "SELECT webhook, message, receiver FROM _bbops_sent WHERE uid = ?", (delivery,)
        )
        if not rows:
            return None
        webhook, message, receiver = rows[0]
        payload = json.dumps({"delivery": delivery, "message": message, "receiver": receiver})
        uid = f"{delivery}/{token}"
        job = NewJob(uid, f"{WEBHOOKS}{webhook}", payload, priority=NORMAL)
        await self._database.write_all([enqueue(job, self._now())])
        return uid

    async def enable(self, webhook: str, receiver: str) -> bool:
        """Let a receiver be told again; return whether it was disabled."""
        found = self._webhooks.get(webhook)
        if found is None or await found.receivers.find(self._database, receiver) is None:
            return False
        done = await self._database.write_all([found.receivers.enable(receiver)])
        return bool(done[0])

    async def receivers(
        self, most: int, *, disabled: bool
    ) -> list[tuple[str, Receiver]]:  # fmt: skip
        """Return receivers by their webhooks, without their secrets."""
        found = list[tuple[str, Receiver]]()
        for name, webhook in self._webhooks.items():
            left = most - len(found)
            some = await webhook.receivers.list(self._database, left, disabled=disabled)
            found += [(name, one) for one in some]
        return found

    async def list(self, most: int) -> list[Sent]:
        """Return deliveries, the newest first."""
        rows = await self._database.read(f"{_SENT} ORDER BY s.tried_at DESC LIMIT ?", (most,))
        return [_sent(row) for row in rows]


def _sent(row: Sequence[Any]) -> Sent:
    uid, webhook, receiver, state, tries, at, error, event = row
    return Sent(uid, webhook, receiver, state, tries, at, error, event or "")
