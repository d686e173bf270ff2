"""Sent webhooks: messages, deliveries, attempts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from bbops.base.host import Database, Http, HttpRequest
from bbops.runtime.values.failures import FlowError, HttpFailure
from bbops.runtime.work.engine import Engine, now_ms
from bbops.runtime.work.receivers import Receiver, ReceiverGate, Receivers
from bbops.runtime.work.rows import write_new_job
from bbops.runtime.work.run_record import RunRecord
from bbops.runtime.work.signature_schemes import headers, read_sending_key
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
"""Begins the work of a delivery, and its name."""

FAN_OUT: Final = "/fan-out"
"""Ends the work of the job that makes deliveries."""

PAGE: Final = 500
"""Receivers that are read at a time."""

MAX_WAITING: Final = 10_000
"""Deliveries that are ready before the next page waits."""

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
    """What a project tells others.

    Attributes:
        name: of its file.
        events: the shapes of its events' payloads.
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
    """Return the job that gives a message, or its next page, to receivers."""
    work = f"{WEBHOOKS}{webhook}{FAN_OUT}"
    return NewJob(f"{work}@{message}{page}", work, payload, priority=LOW, cause=cause)


async def fan_out(webhook: OutgoingWebhook, recorded: RunRecord, database: Database) -> None:
    """Make a job for each receiver of a page, and one for the next page.

    Raises:
        HeldError: the webhook has no such event any more.
        LaterError: too many deliveries wait.
        FlowError: the payload does not fit the event.
    """
    engine, job = recorded.engine, recorded.job
    if recorded.is_known(_STEP):
        return
    given = json.loads(job.payload)
    if given["event"] not in webhook.events:
        raise HeldError(f"webhook '{webhook.name}' has no event '{given['event']}' any more")
    if (await database.read(_COUNT_WAITING))[0][0] >= MAX_WAITING:
        raise LaterError(engine.now() + _WAIT_MS)
    body = None if "after" in given else write_body(webhook, given, engine.now())
    after = given.get("after")
    found = await webhook.receivers.page(database, given["event"], given["owner"], after, PAGE)
    message = job.uid.rpartition("@")[2].partition("/")[0]
    effects = _enqueue_deliveries(engine, job, webhook.name, message, found.ids)
    if body is not None and found.ids:
        effects.insert(0, (_INSERT_MESSAGE, (message, webhook.name, given["event"], body, engine.now())))
    if found.after is not None:
        rest = {"event": given["event"], "owner": given["owner"], "after": found.after}
        page = f"/{stored_key(str(found.after))}"
        coming = fan_out_job(webhook.name, message, json.dumps(rest), job.cause, page=page)
        effects.append(enqueue(coming, engine.now()))
    await engine.change(job, _STEP, effects)


def write_body(webhook: OutgoingWebhook, given: Mapping[str, Any], now: int) -> str:
    """Return what is signed and sent of a message.

    Raises:
        FlowError: the payload does not fit the event.
    """
    errors = dict[str, list[str]]()
    data = webhook.events[given["event"]](given["payload"], "", errors)
    if errors:
        wrong = "; ".join(f"'{path}' {texts[0]}" for path, texts in errors.items())
        raise FlowError(f"the payload does not fit event '{given['event']}': {wrong}")
    at = datetime.fromtimestamp(now / 1000, UTC)
    return _encode({"type": given["event"], "timestamp": at, "data": data}).decode()


def delivery_job(webhook: str, message: str, receiver: str) -> tuple[str, str]:
    """Return the name of a delivery, which is that of its job, and what the job is given."""
    uid = f"{WEBHOOKS}{webhook}@{message}/{stored_key(receiver)}"
    return uid, json.dumps({"delivery": uid, "message": message, "receiver": receiver})


def _enqueue_deliveries(
    engine: Engine, job: Claim, webhook: str, message: str, receivers: Sequence[str]
) -> list[Statement]:
    """Return the one statement that makes a job for each receiver; none without any."""
    rows = []
    for ord_, receiver in enumerate(receivers):
        uid, payload = delivery_job(webhook, message, receiver)
        made = write_new_job(NewJob(uid, f"{WEBHOOKS}{webhook}", payload, priority=BULK))
        rows.append({"ord": ord_, "name": made, "key": uid, "payload": payload,
                     "at": engine.now(), "cause": job.uid, "depth": job.cause.depth})  # fmt: skip
    if not rows:
        return []
    into = "INSERT INTO _bbops_outbox (name, key, payload, at, cause, depth, job)"
    told = f"SELECT '', key, payload, at, cause, depth, name FROM {engine.dialect.new_events}"
    return [(f"{into} {told} ORDER BY ord", (json.dumps(rows),))]


_S, _M, _H = 1, 60, 3600
RETRY: Final = RetryPolicy(
    attempts=8, pauses=(5 * _S, 5 * _M, 30 * _M, 2 * _H, 5 * _H, 10 * _H, 10 * _H), jitter=0.1
)
"""When a message is sent again that was not taken."""

RESPONSE_SECONDS: Final = 15.0
KEPT_BYTES: Final = 1_024
"""Of each answer."""

DISABLED_AFTER_MS: Final = 5 * 86_400_000
"""A receiver that has taken nothing for so long is disabled."""

GONE: Final = 410
"""The status by which a receiver says that it wants nothing more."""

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
_INSERT_ATTEMPT: Final = "INSERT INTO _bbops_tries (uid, at, status, answer, error) VALUES (?, ?, ?, ?, ?)"
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
    """One message for one receiver, in one attempt of its job."""

    webhook: OutgoingWebhook
    recorded: RunRecord
    uid: str
    message: str
    receiver: str

    @property
    def now(self) -> int:
        return self.recorded.engine.now()

    def note(self, state: str, error: str, tries: int) -> Statement:
        """Return what says how a delivery stands."""
        about = self.uid, self.webhook.name, self.message, self.receiver
        return _SAVE_DELIVERY, (*about, state, tries, self.now, error)


@dataclass(frozen=True, slots=True)
class _ReceiverResponse:
    """What came back: a status and the begin of a body, or why nothing did."""

    status: int | None
    text: str = ""
    error: str = ""

    @property
    def is_taken(self) -> bool:
        return self.status is not None and 200 <= self.status < 300

    @property
    def reason(self) -> str:
        return self.error if self.status is None else f"it answered {self.status}"


@dataclass(frozen=True, slots=True)
class DeliverySender:
    """Sends what the jobs of a project's webhooks want."""

    database: Database
    http: Http
    gate: ReceiverGate = field(default_factory=ReceiverGate)

    async def deliver(self, webhook: OutgoingWebhook, recorded: RunRecord) -> None:
        """Send a message; where the receiver is gone or disabled, drop it.

        Raises:
            FlowError: it was not taken.
            LaterError: the receiver is not to be asked now.
            Failure: the database cannot be read or written.
        """
        given = json.loads(recorded.job.payload)
        one = _DeliveryJob(webhook, recorded, given["delivery"], given["message"], given["receiver"])
        rows = await self.database.read(_READ_MESSAGE, (one.receiver, one.message))
        receiver = await webhook.receivers.find(self.database, one.receiver)
        if not rows or receiver is None or receiver.disabled_at:
            why = "disabled" if rows and receiver is not None else "removed"
            await self.database.write_all([one.note("dropped", f"the receiver is {why}", 0)])
            return
        body, failing_since = rows[0]
        answer = await self._asked(one, receiver, body)
        disables = answer.status == GONE or (
            not answer.is_taken
            and failing_since is not None
            and one.now - failing_since >= DISABLED_AFTER_MS
        )
        await self.database.write_all(_attempt_statements(one, answer, disables=disables))
        if not answer.is_taken and not disables:
            raise FlowError(answer.reason)

    async def _asked(self, one: _DeliveryJob, receiver: Receiver, body: str) -> _ReceiverResponse:
        who = one.webhook.name, one.receiver
        until = self.gate.enter(who, one.now)
        if until is not None:
            raise LaterError(until)
        answer = _ReceiverResponse(None, error="it was not asked")
        try:
            answer = await self._send(one, receiver, body.encode())
        finally:
            self.gate.leave(who, one.now, succeeded=answer.is_taken)
        return answer

    async def _send(self, one: _DeliveryJob, receiver: Receiver, body: bytes) -> _ReceiverResponse:
        try:
            signed = headers(read_sending_key(receiver.secret), one.message, one.now // 1000, body)
            request = HttpRequest(
                "POST", receiver.url, signed | {"accept-encoding": "identity"}, body,
                RESPONSE_SECONDS, follows="none", keeps_bytes=KEPT_BYTES,
                is_from_row=receiver.is_row,
            )  # fmt: skip
            found = await self.http.send(request)
        except (HttpFailure, ValueError) as error:
            return _ReceiverResponse(
                None, error=error.message if isinstance(error, HttpFailure) else str(error)
            )
        return _ReceiverResponse(found.status, found.body.decode(errors="replace").replace("\0", ""))


def _attempt_statements(one: _DeliveryJob, answer: _ReceiverResponse, *, disables: bool) -> list[Statement]:
    """Return what is written of a try: its log, and what becomes of the receiver."""
    name, job = one.webhook.name, one.recorded.job
    is_last = disables or job.attempt >= RETRY.attempts
    state = "delivered" if answer.is_taken else "failed" if is_last else "waiting"
    tried = one.uid, one.now, answer.status, answer.text[:KEPT_BYTES], answer.error
    first: list[Statement] = []
    if disables:
        first = _disable_statements(one, "gone" if answer.status == GONE else "failing")
    error = "" if answer.is_taken else answer.reason
    kept: list[Statement] = [*first, one.note(state, error, 1), (_INSERT_ATTEMPT, tried)]
    if answer.is_taken:
        return [*kept, (_CLEAR_FAILING, (name, one.receiver))]
    return kept if disables else [*kept, (_MARK_FAILING, (name, one.receiver, one.now))]


def _disable_statements(one: _DeliveryJob, reason: str) -> list[Statement]:
    """Return what disables a receiver, and says so where it was not disabled before."""
    name, job = one.webhook.name, one.recorded.job
    told = json.dumps({"webhook": name, "receiver": one.receiver, "reason": reason})
    emitted = (
        RECEIVER_DISABLED,
        f"{name}/{one.receiver}",
        told,
        one.now,
        job.uid,
        job.cause.depth + 1,
    )

    def once(results: list[list[tuple[Any, ...]]]) -> Sequence[object]:
        return *emitted, len(results[1])

    forget: Statement = (_CLEAR_FAILING, (name, one.receiver))
    return [forget, one.webhook.receivers.disable(one.receiver, one.now), (_EMIT_IF_CHANGED, once)]


_SELECT_DELIVERIES: Final = (
    "SELECT s.uid, s.webhook, s.receiver, s.state, s.tries, s.tried_at, s.error, m.event"
    " FROM _bbops_sent AS s LEFT JOIN _bbops_messages AS m ON m.id = s.message"
)


@dataclass(frozen=True, slots=True)
class DeliverySummary:
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
class DeliveryAttempt:
    """One try: the status and 1 KB of the answer, or why there was none."""

    at: int
    status: int | None
    answer: str
    error: str


@dataclass(frozen=True, slots=True)
class DeliveryDetails:
    """A message to one receiver, its body, and all tries, the first one first."""

    sent: DeliverySummary
    body: str
    tries: Sequence[DeliveryAttempt]


class DeliveryLog:
    """What a project has sent in the last 30 days, and to whom it sends."""

    def __init__(
        self, database: Database, webhooks: Mapping[str, OutgoingWebhook], *,
        now: Callable[[], int] = now_ms,
    ) -> None:  # fmt: skip
        self._database, self._webhooks, self._now = database, webhooks, now

    async def show(self, delivery: str) -> DeliveryDetails | None:
        """Return a delivery with its tries; None where there is none of the name."""
        found = await self._database.read(f"{_SELECT_DELIVERIES} WHERE s.uid = ?", (delivery,))
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
        return DeliveryDetails(_read_summary(found[0]), body, [DeliveryAttempt(*row) for row in tries])

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

    async def list(self, most: int) -> list[DeliverySummary]:
        """Return deliveries, the newest first."""
        rows = await self._database.read(f"{_SELECT_DELIVERIES} ORDER BY s.tried_at DESC LIMIT ?", (most,))
        return [_read_summary(row) for row in rows]


def _read_summary(row: Sequence[Any]) -> DeliverySummary:
    uid, webhook, receiver, state, tries, at, error, event = row
    return DeliverySummary(uid, webhook, receiver, state, tries, at, error, event or "")
