"""Outgoing webhooks: the fan-out of a message, deliveries with their attempts, and their log."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from bbops.base.host import Database, Http
from bbops.base.json_work import Delivery, DeliveryStory, DeliveryTry
from bbops.runtime.values.failures import FlowError, HttpFailure
from bbops.runtime.work.engine import Engine, now_ms
from bbops.runtime.work.receivers import Receiver, ReceiverGate, Receivers
from bbops.runtime.work.rows import write_new_job
from bbops.runtime.work.run_record import RunRecord
from bbops.runtime.work.signature_schemes import KEPT_BYTES, read_sending_key, signed_request
from bbops.runtime.work.statements import Statement, enqueue
from bbops.runtime.work.triggers import stored_key
from bbops.runtime.work.values import (
    BULK,
    LOW,
    NORMAL,
    RECEIVER_DISABLED,
    Cause,
    Claim,
    HeldError,
    LaterError,
    NewJob,
    RetryPolicy,
)

WEBHOOKS: Final = "webhooks/"
"""Prefix of the work and the uid of a delivery."""

FAN_OUT: Final = "/fan-out"
"""Suffix of the work of the job that creates deliveries."""

PAGE: Final = 500
"""The number of receivers of one fan-out job."""

MAX_WAITING: Final = 10_000
"""The number of ready deliveries at which a fan-out job is postponed."""

_WAIT_MS: Final = 1_000
_STEP: Final = "fan-out"
_COUNT_WAITING: Final = (
    "SELECT count(*) FROM (SELECT 1 FROM _bbops_jobs WHERE state = 'ready'"
    f" AND priority = {BULK} LIMIT {MAX_WAITING}) AS waiting"
)
_INSERT_MESSAGE: Final = (
    "INSERT INTO _bbops_messages (id, webhook, event, body, at) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (id) DO NOTHING"
)

_encode = msgspec.json.Encoder(decimal_format="number").encode

Shape = Callable[[Any, str, dict[str, list[str]]], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class OutgoingWebhook:
    """A webhook of a project: its receivers and events.

    Attributes:
        name: the name of its file.
        events: the payload shapes by event name.
    """

    name: str
    receivers: Receivers
    events: Mapping[str, Shape]


def message_id(uuid: str) -> str:
    """Return the `webhook-id` of a message."""
    return f"msg_{uuid.replace('-', '')}"


def fan_out_job(
    webhook: str, message: str, payload: str, cause: Cause, *, page: str = ""
) -> NewJob:  # fmt: skip
    """Return the job that creates the deliveries of a message, or of its next page."""
    work = f"{WEBHOOKS}{webhook}{FAN_OUT}"
    return NewJob(f"{work}@{message}{page}", work, payload, priority=LOW, cause=cause)


async def fan_out(
    webhook: OutgoingWebhook, record: RunRecord, database: Database,
    report: Callable[[str, str], None],
) -> None:  # fmt: skip
    """Create a job for each receiver of a page, and a fan-out job for the next page.

    Args:
        webhook: the webhook of the message.
        record: the record of the job.
        database: the project's database.
        report: takes a receiver whose row has a problem, and the problem.

    Raises:
        HeldError: the event was removed from the webhook.
        LaterError: too many deliveries wait.
        FlowError: the payload does not fit the event.
    """
    engine, job = record.engine, record.job
    if record.has_result(_STEP):
        return
    request = json.loads(job.payload)
    event, owner, after = request["event"], request["owner"], request.get("after")
    if event not in webhook.events:
        raise HeldError(f"webhook '{webhook.name}' has no event '{event}' any more")
    if (await database.read(_COUNT_WAITING))[0][0] >= MAX_WAITING:
        raise LaterError(engine.now() + _WAIT_MS)
    body = None if "after" in request else write_body(webhook, request, engine.now())
    page = await webhook.receivers.page(database, event, owner, after, PAGE)
    for receiver, problem in page.problems.items():
        report(receiver, problem)
    message = job.uid.rpartition("@")[2].partition("/")[0]
    effects = _enqueue_deliveries(engine, job, webhook.name, message, page.ids)
    if body is not None and page.ids:
        effects.insert(0, (_INSERT_MESSAGE, (message, webhook.name, event, body, engine.now())))
    if page.after is not None:
        payload = json.dumps({"event": event, "owner": owner, "after": page.after})
        suffix = f"/{stored_key(str(page.after))}"
        next_job = fan_out_job(webhook.name, message, payload, job.cause, page=suffix)
        effects.append(enqueue(next_job, engine.now()))
    await engine.change(job, _STEP, effects)


def write_body(webhook: OutgoingWebhook, request: Mapping[str, Any], now: int) -> str:
    """Return the body of a message, as it is signed and sent.

    Raises:
        FlowError: the payload does not fit the event.
    """
    errors = dict[str, list[str]]()
    event = request["event"]
    data = webhook.events[event](request["payload"], "", errors)
    if errors:
        problems = "; ".join(f"'{path}' {texts[0]}" for path, texts in errors.items())
        raise FlowError(f"the payload does not fit event '{event}': {problems}")
    at = datetime.fromtimestamp(now / 1000, UTC)
    return _encode({"type": event, "timestamp": at, "data": data}).decode()


def delivery_job(webhook: str, message: str, receiver: str) -> tuple[str, str]:
    """Return the uid of a delivery, which is also its job's uid, and the job's payload."""
    uid = f"{WEBHOOKS}{webhook}@{message}/{stored_key(receiver)}"
    return uid, json.dumps({"delivery": uid, "message": message, "receiver": receiver})


def _enqueue_deliveries(
    engine: Engine, job: Claim, webhook: str, message: str, receivers: Sequence[str]
) -> list[Statement]:
    """Return a statement that creates a job for each receiver; none without receivers."""
    rows = []
    for ord_, receiver in enumerate(receivers):
        uid, payload = delivery_job(webhook, message, receiver)
        new_job = write_new_job(NewJob(uid, f"{WEBHOOKS}{webhook}", payload, priority=BULK))
        rows.append({"ord": ord_, "name": new_job, "key": uid, "payload": payload,
                     "at": engine.now(), "cause": job.uid, "depth": job.cause.depth})  # fmt: skip
    if not rows:
        return []
    into = "INSERT INTO _bbops_outbox (name, key, payload, at, cause, depth, job)"
    select = f"SELECT '', key, payload, at, cause, depth, name FROM {engine.dialect.new_events}"
    return [(f"{into} {select} ORDER BY ord", (json.dumps(rows),))]


_S, _M, _H = 1, 60, 3600
RETRY: Final = RetryPolicy(
    attempts=8, pauses=(5 * _S, 5 * _M, 30 * _M, 2 * _H, 5 * _H, 10 * _H, 10 * _H), jitter=0.1
)
"""The attempts of a delivery."""

DISABLED_AFTER_MS: Final = 5 * 86_400_000
"""A receiver is disabled when it has failed for this time."""

GONE: Final = 410
"""The status of a receiver that wants no more messages."""

_READ_MESSAGE: Final = (
    "SELECT m.body, r.failing_since FROM _bbops_messages AS m LEFT JOIN _bbops_receivers AS r"
    " ON r.webhook = m.webhook AND r.receiver = ? WHERE m.id = ?"
)
_SAVE_DELIVERY: Final = (
    "INSERT INTO _bbops_sent (uid, webhook, message, receiver, state, tries, tried_at, error)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (uid) DO UPDATE SET state = excluded.state,"
    " tries = _bbops_sent.tries + excluded.tries, tried_at = excluded.tried_at,"
    " error = excluded.error"
)
_INSERT_ATTEMPT: Final = (
    "INSERT INTO _bbops_tries (uid, at, status, answer, error) VALUES (?, ?, ?, ?, ?)"
)
_MARK_FAILING: Final = (
    "INSERT INTO _bbops_receivers (webhook, receiver, failing_since) VALUES (?, ?, ?)"
    " ON CONFLICT (webhook, receiver) DO UPDATE SET failing_since ="
    " coalesce(_bbops_receivers.failing_since, excluded.failing_since)"
)
_CLEAR_FAILING: Final = (
    "DELETE FROM _bbops_receivers WHERE webhook = ? AND receiver = ? AND disabled_at IS NULL"
)
_EMIT_IF_CHANGED: Final = (
    "INSERT INTO _bbops_outbox (name, key, payload, at, cause, depth) SELECT CAST(? AS text),"
    " CAST(? AS text), CAST(? AS text), CAST(? AS bigint), CAST(? AS text), CAST(? AS bigint)"
    " WHERE CAST(? AS bigint) > 0"
)


@dataclass(frozen=True, slots=True)
class _DeliveryJob:
    """An attempt to deliver a message to a receiver."""

    webhook: OutgoingWebhook
    record: RunRecord
    uid: str
    message: str
    receiver: str

    @property
    def now(self) -> int:
        return self.record.engine.now()

    def save_state(self, state: str, error: str, tries: int) -> Statement:
        """Return the statement that saves the delivery's state."""
        ids = self.uid, self.webhook.name, self.message, self.receiver
        return _SAVE_DELIVERY, (*ids, state, tries, self.now, error)


@dataclass(frozen=True, slots=True)
class _ReceiverResponse:
    """A receiver's status and the start of its body, or the error without a response."""

    status: int | None
    text: str = ""
    error: str = ""

    @property
    def is_accepted(self) -> bool:
        return self.status is not None and 200 <= self.status < 300

    @property
    def reason(self) -> str:
        return self.error if self.status is None else f"it answered {self.status}"


@dataclass(frozen=True, slots=True)
class DeliverySender:
    """Sends the deliveries of a project's webhooks."""

    database: Database
    http: Http
    gate: ReceiverGate = field(default_factory=ReceiverGate)

    async def deliver(self, webhook: OutgoingWebhook, record: RunRecord) -> None:
        """Send a message; drop it if the receiver was removed or disabled.

        Raises:
            FlowError: the receiver did not accept the message.
            LaterError: the receiver is paused or busy.
            Failure: the database cannot be read or written.
        """
        payload = json.loads(record.job.payload)
        delivery = _DeliveryJob(
            webhook, record, payload["delivery"], payload["message"], payload["receiver"]
        )  # fmt: skip
        rows = await self.database.read(_READ_MESSAGE, (delivery.receiver, delivery.message))
        receiver = await webhook.receivers.find(self.database, delivery.receiver)
        if not rows or receiver is None or receiver.disabled_at:
            state = "disabled" if rows and receiver is not None else "removed"
            dropped = delivery.save_state("dropped", f"the receiver is {state}", 0)
            await self.database.write_all([dropped])
            return
        body, failing_since = rows[0]
        response = await self._send_limited(delivery, receiver, body)
        disables = response.status == GONE or (
            not response.is_accepted
            and failing_since is not None
            and delivery.now - failing_since >= DISABLED_AFTER_MS
        )
        await self.database.write_all(_attempt_statements(delivery, response, disables=disables))
        if not response.is_accepted and not disables:
            raise FlowError(response.reason)

    async def _send_limited(
        self, delivery: _DeliveryJob, receiver: Receiver, body: str
    ) -> _ReceiverResponse:
        key = delivery.webhook.name, delivery.receiver
        until = self.gate.enter(key, delivery.now)
        if until is not None:
            raise LaterError(until)
        response = _ReceiverResponse(None, error="no request was sent")
        try:
            response = await self._send(delivery, receiver, body.encode())
        finally:
            self.gate.leave(key, delivery.now, succeeded=response.is_accepted)
        return response

    async def _send(
        self, delivery: _DeliveryJob, receiver: Receiver, body: bytes
    ) -> _ReceiverResponse:
        try:
            key = read_sending_key(receiver.secret)
            request = signed_request(
                receiver.url, key, delivery.message, delivery.now // 1000, body,
                is_from_row=receiver.is_row,
            )  # fmt: skip
            response = await self.http.send(request)
        except (HttpFailure, ValueError) as error:
            return _ReceiverResponse(
                None, error=error.message if isinstance(error, HttpFailure) else str(error)
            )
        text = response.body.decode(errors="replace").replace("\0", "")
        return _ReceiverResponse(response.status, text)


def _attempt_statements(
    delivery: _DeliveryJob, response: _ReceiverResponse, *, disables: bool
) -> list[Statement]:
    """Return the statements that log an attempt and update the receiver."""
    name, job = delivery.webhook.name, delivery.record.job
    is_last = disables or job.attempt >= RETRY.attempts
    state = "delivered" if response.is_accepted else "failed" if is_last else "waiting"
    text = response.text[:KEPT_BYTES]
    attempt = delivery.uid, delivery.now, response.status, text, response.error
    first: list[Statement] = []
    if disables:
        first = _disable_statements(delivery, "gone" if response.status == GONE else "failing")
    error = "" if response.is_accepted else response.reason
    log: list[Statement] = [
        *first, delivery.save_state(state, error, 1), (_INSERT_ATTEMPT, attempt)
    ]  # fmt: skip
    if response.is_accepted:
        return [*log, (_CLEAR_FAILING, (name, delivery.receiver))]
    if disables:
        return log
    return [*log, (_MARK_FAILING, (name, delivery.receiver, delivery.now))]


def _disable_statements(delivery: _DeliveryJob, reason: str) -> list[Statement]:
    """Return the statements that disable a receiver, and emit an event if it was enabled."""
    name, receiver, job = delivery.webhook.name, delivery.receiver, delivery.record.job
    payload = json.dumps({"webhook": name, "receiver": receiver, "reason": reason})
    event = (
        RECEIVER_DISABLED, f"{name}/{receiver}", payload, delivery.now, job.uid, job.cause.depth + 1
    )  # fmt: skip

    def parameters(results: list[list[tuple[Any, ...]]]) -> Sequence[object]:
        return *event, len(results[1])

    clear: Statement = (_CLEAR_FAILING, (name, receiver))
    disable = delivery.webhook.receivers.disable(receiver, delivery.now)
    return [clear, disable, (_EMIT_IF_CHANGED, parameters)]


_SELECT_DELIVERIES: Final = (
    "SELECT s.uid, s.webhook, s.receiver, s.state, s.tries, s.tried_at, s.error, m.event"
    " FROM _bbops_sent AS s LEFT JOIN _bbops_messages AS m ON m.id = s.message"
)


class DeliveryLog:
    """The deliveries of the last 30 days, and the receivers of a project."""

    def __init__(
        self, database: Database, webhooks: Mapping[str, OutgoingWebhook], *,
        now: Callable[[], int] = now_ms,
    ) -> None:  # fmt: skip
        self._database, self._webhooks, self._now = database, webhooks, now

    async def show(self, delivery: str) -> DeliveryStory | None:
        """Return a delivery with its attempts; None if it does not exist."""
        rows = await self._database.read(f"{_SELECT_DELIVERIES} WHERE s.uid = ?", (delivery,))
        if not rows:
            return None
        bodies = await self._database.read(
            "SELECT m.body FROM _bbops_sent AS s JOIN _bbops_messages AS m ON m.id = s.message"
            " WHERE s.uid = ?",
            (delivery,),
        )
        tries = await self._database.read(
            "SELECT at, status, answer, error FROM _bbops_tries WHERE uid = ? ORDER BY id",
            (delivery,),
        )
        body = bodies[0][0] if bodies else "null"
        attempts = [
            DeliveryTry(at / 1000, status, answer, error) for at, status, answer, error in tries
        ]
        return DeliveryStory(_read_delivery(rows[0]), [], body, attempts)

    async def resend(self, delivery: str, token: str) -> str | None:
        """Send a message again with the same id; return the job's uid, None without the delivery.

        Args:
            delivery: the id of the delivery.
            token: the end of the job's uid, unique to this job.
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
        """Enable a receiver; return whether it was disabled."""
        known = self._webhooks.get(webhook)
        if known is None or await known.receivers.find(self._database, receiver) is None:
            return False
        results = await self._database.write_all([known.receivers.enable(receiver)])
        return bool(results[0])

    async def receivers(
        self, limit: int, *, disabled: bool
    ) -> list[tuple[str, Receiver]]:  # fmt: skip
        """Return receivers with the names of their webhooks, without their secrets."""
        receivers = list[tuple[str, Receiver]]()
        for name, webhook in self._webhooks.items():
            left = limit - len(receivers)
            page = await webhook.receivers.list(self._database, left, disabled=disabled)
            receivers += [(name, receiver) for receiver in page]
        return receivers

    async def list(self, limit: int) -> list[Delivery]:
        """Return deliveries, newest first."""
        sql = f"{_SELECT_DELIVERIES} ORDER BY s.tried_at DESC LIMIT ?"
        rows = await self._database.read(sql, (limit,))
        return [_read_delivery(row) for row in rows]


def _read_delivery(row: Sequence[Any]) -> Delivery:
    uid, webhook, receiver, state, tries, at, error, event = row
    return Delivery(
        uid, "sent", f"{WEBHOOKS}{webhook}", at / 1000, state, event or "", receiver, tries, error
    )
