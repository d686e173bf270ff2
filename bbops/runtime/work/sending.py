"""Send one message to one receiver, and disable a receiver that does not want any."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from bbops.base.host import Database, Http, HttpRequest
from bbops.runtime.values.failures import FlowError, HttpFailure
from bbops.runtime.work.messages import SentWebhook
from bbops.runtime.work.own_events import RECEIVER_DISABLED
from bbops.runtime.work.receiver_gate import ReceiverGate
from bbops.runtime.work.receivers import Receiver
from bbops.runtime.work.recorded import Recorded
from bbops.runtime.work.retry import Retry
from bbops.runtime.work.standard import headers, read_sending_key
from bbops.runtime.work.statements import Statement
from bbops.runtime.work.values import LaterError

_S, _M, _H = 1, 60, 3600
RETRY: Final = Retry(
    attempts=8, pauses=(5 * _S, 5 * _M, 30 * _M, 2 * _H, 5 * _H, 10 * _H, 10 * _H), jitter=0.1
)
"""When a message is sent again that was not taken."""

ANSWER_SECONDS: Final = 15.0
KEPT_BYTES: Final = 1_024
"""Of each answer."""

DISABLED_AFTER_MS: Final = 5 * 86_400_000
"""A receiver that has taken nothing for so long is disabled."""

GONE: Final = 410
"""The status by which a receiver says that it wants nothing more."""

_READ: Final = (
    "SELECT m.body, r.failing_since FROM _bbops_messages AS m LEFT JOIN _bbops_receivers AS r"
    " ON r.webhook = m.webhook AND r.receiver = ? WHERE m.id = ?"
)
_NOTE: Final = (
    "INSERT INTO _bbops_sent (uid, webhook, message, receiver, state, tries, tried_at, error)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (uid) DO UPDATE SET state = excluded.state,"
    " tries = _bbops_sent.tries + excluded.tries, tried_at = excluded.tried_at,"
    " error = excluded.error"
)
_TRIED: Final = "INSERT INTO _bbops_tries (uid, at, status, answer, error) VALUES (?, ?, ?, ?, ?)"
_FAILS: Final = (
    "INSERT INTO _bbops_receivers (webhook, receiver, failing_since) VALUES (?, ?, ?)"
    " ON CONFLICT (webhook, receiver) DO UPDATE SET failing_since ="
    " coalesce(_bbops_receivers.failing_since, excluded.failing_since)"
)
_WORKS: Final = (
    "DELETE FROM _bbops_receivers WHERE webhook = ? AND receiver = ? AND disabled_at IS NULL"
)
_REPORT: Final = (
    "INSERT INTO _bbops_outbox (name, key, payload, at, cause, depth) SELECT CAST(? AS text),"
    " CAST(? AS text), CAST(? AS text), CAST(? AS bigint), CAST(? AS text), CAST(? AS bigint)"
    " WHERE CAST(? AS bigint) > 0"
)


@dataclass(frozen=True, slots=True)
class _Delivery:
    """One message for one receiver, in one attempt of its job."""

    webhook: SentWebhook
    recorded: Recorded
    uid: str
    message: str
    receiver: str

    @property
    def now(self) -> int:
        return self.recorded.engine.now()

    def note(self, state: str, error: str, tries: int) -> Statement:
        """Return what says how a delivery stands."""
        about = self.uid, self.webhook.name, self.message, self.receiver
        return _NOTE, (*about, state, tries, self.now, error)


@dataclass(frozen=True, slots=True)
class _Answer:
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
class WebhookSender:
    """Sends what the jobs of a project's webhooks want."""

    database: Database
    http: Http
    gate: ReceiverGate = field(default_factory=ReceiverGate)

    async def deliver(self, webhook: SentWebhook, recorded: Recorded) -> None:
        """Send a message; where the receiver is gone or disabled, drop it.

        Raises:
            FlowError: it was not taken.
            LaterError: the receiver is not to be asked now.
            Failure: the database cannot be read or written.
        """
        given = json.loads(recorded.job.payload)
        one = _Delivery(webhook, recorded, given["delivery"], given["message"], given["receiver"])
        rows = await self.database.read(_READ, (one.receiver, one.message))
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
        await self.database.write_all(_outcome(one, answer, disables=disables))
        if not answer.is_taken and not disables:
            raise FlowError(answer.reason)

    async def _asked(self, one: _Delivery, receiver: Receiver, body: str) -> _Answer:
        who = one.webhook.name, one.receiver
        until = self.gate.enter(who, one.now)
        if until is not None:
            raise LaterError(until)
        answer = _Answer(None, error="it was not asked")
        try:
            answer = await self._send(one, receiver, body.encode())
        finally:
            self.gate.leave(who, one.now, succeeded=answer.is_taken)
        return answer

    async def _send(self, one: _Delivery, receiver: Receiver, body: bytes) -> _Answer:
        try:
            signed = headers(read_sending_key(receiver.secret), one.message, one.now // 1000, body)
            request = HttpRequest(
                "POST", receiver.url, signed | {"accept-encoding": "identity"}, body,
                ANSWER_SECONDS, follows="none", keeps_bytes=KEPT_BYTES,
                is_from_row=receiver.is_row,
            )  # fmt: skip
            found = await self.http.send(request)
        except (HttpFailure, ValueError) as error:
            return _Answer(
                None, error=error.message if isinstance(error, HttpFailure) else str(error)
            )
        return _Answer(found.status, found.body.decode(errors="replace").replace("\0", ""))


def _outcome(one: _Delivery, answer: _Answer, *, disables: bool) -> list[Statement]:
    """Return what is written of a try: its log, and what becomes of the receiver."""
    name, job = one.webhook.name, one.recorded.job
    is_last = disables or job.attempt >= RETRY.attempts
    state = "delivered" if answer.is_taken else "failed" if is_last else "waiting"
    tried = one.uid, one.now, answer.status, answer.text[:KEPT_BYTES], answer.error
    first: list[Statement] = []
    if disables:
        first = _disabling(one, "gone" if answer.status == GONE else "failing")
    error = "" if answer.is_taken else answer.reason
    kept: list[Statement] = [*first, one.note(state, error, 1), (_TRIED, tried)]
    if answer.is_taken:
        return [*kept, (_WORKS, (name, one.receiver))]
    return kept if disables else [*kept, (_FAILS, (name, one.receiver, one.now))]


def _disabling(one: _Delivery, reason: str) -> list[Statement]:
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

    forget: Statement = (_WORKS, (name, one.receiver))
    return [forget, one.webhook.receivers.disable(one.receiver, one.now), (_REPORT, once)]
