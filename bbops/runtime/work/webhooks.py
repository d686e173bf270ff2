"""Received webhooks: verification, storage, replay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from bbops.base.host import Database, Host
from bbops.runtime.values.failures import Thrown
from bbops.runtime.work.engine import now_ms
from bbops.runtime.work.signature_schemes import Headers, AcceptedDelivery, read_json
from bbops.runtime.work.signatures import WebhookSignature, stored_name, read_headers
from bbops.runtime.work.statements import EMIT, Statement

MAX_BODY_BYTES: Final = 1_000_000
"""Of a body."""

DUPLICATE_MS: Final = 7 * 86_400_000
"""So long a delivery of the same name counts as the same."""

_INSERT_DELIVERY: Final = (
    "INSERT INTO _bbops_received (hook, name, received_at, headers, body) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (hook, name) DO UPDATE SET received_at = excluded.received_at,"
    " headers = excluded.headers, body = excluded.body"
    " WHERE _bbops_received.received_at < ? RETURNING hook"
)
_EMIT: Final = (
    "INSERT INTO _bbops_outbox (name, key, payload, at, cause, depth) SELECT CAST(? AS text),"
    " CAST(? AS text), CAST(? AS text), CAST(? AS bigint), '', 0 WHERE CAST(? AS bigint) > 0"
)
_EVENT: Final = "webhook/"


def webhook_event(name: str) -> str:
    """Return the name under which what a trigger receives is in the outbox."""
    return f"{_EVENT}{name}"


def display_name(name: str) -> str:
    """Return the name of an event as a function sees it; of a webhook, its trigger's."""
    return name.removeprefix(_EVENT)


@dataclass(frozen=True, slots=True)
class DeliveryName:
    """Where a delivery has its name: at a path in its JSON, or in a header."""

    body: str | None = None
    header: str | None = None

    def read(self, headers: Headers, body: bytes) -> str:
        """Return the name; empty where the delivery has none."""
        if self.header is not None:
            return stored_name(headers.get(self.header.lower(), ""))
        found = read_json(body)
        for key in (self.body or "").split("."):
            found = found.get(key) if type(found) is dict else None
        return stored_name(str(found)) if type(found) in {str, int} else ""


@dataclass(frozen=True, slots=True)
class ReceivedWebhook:
    """A trigger that other services start.

    Attributes:
        name: the trigger's.
        id: where a delivery has its name; None for the name that its scheme knows.
    """

    name: str
    signature: WebhookSignature
    id: DeliveryName | None = None

    async def take(
        self, host: Host, given: Sequence[tuple[bytes, bytes]], body: bytes, url: str = ""
    ) -> AcceptedDelivery:
        """Keep a delivery, and make its job, in one commit; one that came before changes nothing.

        Args:
            host: of the release.
            given: its headers.
            body: as it came.
            url: where it came to, as its sender knows it.

        Returns:
            What becomes of it: what its service wants to hear is in it.

        Raises:
            Thrown: 401, it is not signed; 503, nothing runs jobs here.
            FlowError: a secret is not what the scheme wants.
            Failure: it cannot be written.
        """
        now = host.clock.now().timestamp()
        headers = read_headers(given)
        name = self.signature.verify(headers, body, now, url)
        if self.id is not None:
            name = self.id.read(headers, body)
        found = self.signature.take(headers, body, url)
        if found.is_handshake:
            return found
        if host.events is None:
            raise Thrown(503, "no webhooks are taken here")
        await host.events.require_room()
        payload, at, name = found.payload, round(1000 * now), name or host.random.uuid()
        taken = self.name, name, at, self._headers(given), payload, at - DUPLICATE_MS
        emitted = webhook_event(self.name), name, payload, at

        def once(results: list[list[tuple[Any, ...]]]) -> Sequence[object]:
            return *emitted, len(results[0])

        statements: list[Statement] = [(_INSERT_DELIVERY, taken), (_EMIT, once)]
        await host.database.write_all(statements)
        await host.events.committed()
        return found

    def _headers(self, given: Sequence[tuple[bytes, bytes]]) -> str:
        """Return headers as they are kept: name, value, and whether it is the signature."""
        told = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in given]
        kept = [(name, value, self.signature.is_in(name)) for name, value in told]
        return msgspec.json.encode(kept).decode()


TRIGGERS: Final = "triggers/"
"""Begins the name of a delivery that was received."""

_SELECT_RECEIVED: Final = "SELECT hook, name, received_at FROM _bbops_received"
_WHERE_NAME: Final = "WHERE hook = ? AND name = ?"


@dataclass(frozen=True, slots=True)
class ReceivedDelivery:
    """A delivery that another service has sent.

    Attributes:
        id: such as `triggers/paid@evt_1`.
        at: when it came, in milliseconds since 1970.
    """

    id: str
    trigger: str
    at: int


@dataclass(frozen=True, slots=True)
class ReceivedDetails:
    """All that is kept of one; of each header its name, value, and whether it is the signature."""

    delivery: ReceivedDelivery
    headers: Sequence[tuple[str, str, bool]]
    body: str


class ReceivedLog:
    """What a project has received in the last 30 days."""

    def __init__(self, database: Database, *, now: Callable[[], int] = now_ms) -> None:
        self._database, self._now = database, now

    async def list(self, most: int) -> list[ReceivedDelivery]:
        """Return deliveries, the newest first."""
        sql = f"{_SELECT_RECEIVED} ORDER BY received_at DESC LIMIT ?"
        return [_read_delivery(row) for row in await self._database.read(sql, (most,))]

    async def show(self, delivery: str) -> ReceivedDetails | None:
        """Return what is kept of a delivery; None where there is none of the name."""
        sql = f"SELECT hook, name, received_at, headers, body FROM _bbops_received {_WHERE_NAME}"
        rows = await self._database.read(sql, _split(delivery))
        if not rows:
            return None
        *head, headers, body = rows[0]
        found = msgspec.json.decode(headers, type=list[tuple[str, str, bool]])
        return ReceivedDetails(_read_delivery(head), found, body)

    async def replay(self, delivery: str) -> str | None:
        """Run a delivery again, as a new job; return its name, None without the delivery."""
        hook, name = _split(delivery)
        rows = await self._database.read(f"SELECT body FROM _bbops_received {_WHERE_NAME}", (hook, name))
        if not rows:
            return None
        given = webhook_event(hook), name, rows[0][0], self._now(), "", 0
        ((number,),) = await self._database.write(f"{EMIT} RETURNING id", given)
        return f"{TRIGGERS}{hook}@{number}"


def _read_delivery(row: Sequence[Any]) -> ReceivedDelivery:
    hook, name, at = row
    return ReceivedDelivery(f"{TRIGGERS}{hook}@{name}", hook, at)


def _split(delivery: str) -> tuple[str, str]:
    """Return the trigger of a delivery, and what its service calls it."""
    hook, _, name = delivery.removeprefix(TRIGGERS).partition("@")
    return hook, name
