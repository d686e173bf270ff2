"""Received webhooks: verification, storage, replay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from bbops.base.host import Database, Host
from bbops.base.json_work import Delivery
from bbops.runtime.values.failures import Thrown
from bbops.runtime.work.engine import now_ms
from bbops.runtime.work.signature_schemes import AcceptedDelivery, Headers, read_json
from bbops.runtime.work.signatures import WebhookSignature, read_headers, stored_name
from bbops.runtime.work.statements import EMIT, Statement

MAX_BODY_BYTES: Final = 1_000_000
"""The largest body of a webhook."""

DUPLICATE_MS: Final = 7 * 86_400_000
"""The time for which a delivery with the same name is a duplicate."""

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
_MESSAGE: Final = "realtime/"

AGENT_HOOK: Final = "~agents/"
"""Prefix of the name of a webhook that starts an agent."""


def webhook_event(name: str) -> str:
    """Return the event name of a webhook trigger."""
    return f"{_EVENT}{name}"


def message_event(topic: str, message: str) -> str:
    """Return the event name of a message of a topic that starts an agent."""
    return f"{_MESSAGE}{topic}/{message}"


def display_name(name: str) -> str:
    """Return the name of an event for a function.

    For a webhook, that is the name of its trigger; for a message of a topic, the message's own.
    """
    if name.startswith(_MESSAGE):
        return name.removeprefix(_MESSAGE).partition("/")[2]
    return name.removeprefix(_EVENT).removeprefix("~")


@dataclass(frozen=True, slots=True)
class DeliveryName:
    """The location of a delivery's name: a path in its JSON body, or a header."""

    body: str | None = None
    header: str | None = None

    def read(self, headers: Headers, body: bytes) -> str:
        """Return the name of a delivery; empty if it is missing."""
        if self.header is not None:
            return stored_name(headers.get(self.header.lower(), ""))
        value = read_json(body)
        for key in (self.body or "").split("."):
            value = value.get(key) if type(value) is dict else None
        return stored_name(str(value)) if type(value) in {str, int} else ""


@dataclass(frozen=True, slots=True)
class ReceivedWebhook:
    """A trigger that other services call.

    Attributes:
        name: the name of the trigger.
        id: the location of a delivery's name; None for the location of the scheme.
    """

    name: str
    signature: WebhookSignature
    id: DeliveryName | None = None

    async def receive(
        self, host: Host, headers: Sequence[tuple[bytes, bytes]], body: bytes, url: str = ""
    ) -> AcceptedDelivery:
        """Store a delivery and enqueue its job, in one commit; ignore a duplicate.

        Args:
            host: the host of the release.
            headers: the raw headers.
            body: the raw body.
            url: the URL that the service calls.

        Returns:
            The accepted delivery, with the response to the service.

        Raises:
            Thrown: 401, the signature is not valid; 503, jobs do not run here.
            FlowError: a secret is not valid for the scheme.
            Failure: the database rejected the write.
        """
        now = host.clock.now().timestamp()
        by_name = read_headers(headers)
        name = self.signature.verify(by_name, body, now, url)
        if self.id is not None:
            name = self.id.read(by_name, body)
        accepted = self.signature.parse(by_name, body, url)
        if accepted.is_handshake:
            return accepted
        if host.events is None:
            raise Thrown(503, "no webhooks are taken here")
        await host.events.require_room()
        payload, at, name = accepted.payload, round(1000 * now), name or host.random.uuid()
        delivery = self.name, name, at, self._write_headers(headers), payload, at - DUPLICATE_MS
        event = webhook_event(self.name), name, payload, at

        def parameters(results: list[list[tuple[Any, ...]]]) -> Sequence[object]:
            return *event, len(results[0])

        statements: list[Statement] = [(_INSERT_DELIVERY, delivery), (_EMIT, parameters)]
        await host.database.write_all(statements)
        await host.events.committed()
        return accepted

    def _write_headers(self, headers: Sequence[tuple[bytes, bytes]]) -> str:
        """Return headers as JSON: name, value, and whether it is the signature."""
        texts = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers]
        rows = [(name, value, self.signature.is_in(name)) for name, value in texts]
        return msgspec.json.encode(rows).decode()


TRIGGERS: Final = "triggers/"
"""Prefix of the id of a received delivery."""

_SELECT_RECEIVED: Final = "SELECT hook, name, received_at FROM _bbops_received"
_WHERE_NAME: Final = "WHERE hook = ? AND name = ?"


@dataclass(frozen=True, slots=True)
class ReceivedDetails:
    """A received delivery with its body, and headers as name, value, and is-the-signature."""

    delivery: Delivery
    headers: Sequence[tuple[str, str, bool]]
    body: str


class ReceivedLog:
    """The received deliveries of the last 30 days."""

    def __init__(self, database: Database, *, now: Callable[[], int] = now_ms) -> None:
        self._database, self._now = database, now

    async def list(self, limit: int) -> list[Delivery]:
        """Return deliveries, newest first."""
        sql = f"{_SELECT_RECEIVED} ORDER BY received_at DESC LIMIT ?"
        return [_read_delivery(row) for row in await self._database.read(sql, (limit,))]

    async def show(self, delivery: str) -> ReceivedDetails | None:
        """Return a delivery with its headers and body; None if it does not exist."""
        sql = f"SELECT hook, name, received_at, headers, body FROM _bbops_received {_WHERE_NAME}"
        rows = await self._database.read(sql, _split(delivery))
        if not rows:
            return None
        *summary, headers, body = rows[0]
        decoded = msgspec.json.decode(headers, type=list[tuple[str, str, bool]])
        return ReceivedDetails(_read_delivery(summary), decoded, body)

    async def replay(self, delivery: str) -> str | None:
        """Run a delivery again as a new job; return the job's uid, None without the delivery."""
        hook, name = _split(delivery)
        rows = await self._database.read(
            f"SELECT body FROM _bbops_received {_WHERE_NAME}", (hook, name)
        )
        if not rows:
            return None
        event = webhook_event(hook), name, rows[0][0], self._now(), "", 0
        ((event_id,),) = await self._database.write(f"{EMIT} RETURNING id", event)
        return f"{_work_of(hook)}@{event_id}"


def _work_of(hook: str) -> str:
    """Return the work that a webhook starts."""
    return f"{hook[1:]}/webhook" if hook.startswith(AGENT_HOOK) else f"{TRIGGERS}{hook}"


def _read_delivery(row: Sequence[Any]) -> Delivery:
    hook, name, at = row
    return Delivery(
        f"{TRIGGERS}{hook}@{name}", "received", f"{TRIGGERS}{hook}", at / 1000, "received"
    )


def _split(delivery: str) -> tuple[str, str]:
    """Return the trigger of a delivery, and the service's name of the delivery."""
    hook, _, name = delivery.removeprefix(TRIGGERS).partition("@")
    return hook, name
