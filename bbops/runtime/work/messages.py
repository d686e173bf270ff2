"""Messages to receivers of webhooks: one job gives each receiver a job of its own, page by page.

A page is one commit with its record, so each receiver has one job of a message. Other jobs run
between two pages, however many receivers there are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from bbops.base.host import Database
from bbops.runtime.values.failures import FlowError
from bbops.runtime.work.engine import Engine
from bbops.runtime.work.outbox import enqueue
from bbops.runtime.work.receivers import Receivers
from bbops.runtime.work.recorded import Recorded
from bbops.runtime.work.rows import write_new_job
from bbops.runtime.work.statements import Statement
from bbops.runtime.work.triggers import kept_key
from bbops.runtime.work.values import BULK, LOW, Cause, Claim, HeldError, LaterError, NewJob

WEBHOOKS: Final = "webhooks/"
"""Begins the work of a delivery, and its name."""

FAN_OUT: Final = "/fan-out"
"""Ends the work of the job that makes deliveries."""

PAGE: Final = 500
"""Receivers that are read at a time."""

MOST_WAITING: Final = 10_000
"""Deliveries that are ready before the next page waits."""

_WAIT_MS: Final = 1_000
_STEP: Final = "fan-out"
_CROWD: Final = (
    "SELECT count(*) FROM (SELECT 1 FROM _bbops_jobs WHERE state = 'ready'"
    f" AND priority = {BULK} LIMIT {MOST_WAITING}) AS waiting"
)
_KEEP: Final = (
    "INSERT INTO _bbops_messages (id, webhook, event, body, at) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (id) DO NOTHING"
)

_encode = msgspec.json.Encoder(decimal_format="number").encode

Shape = Callable[[Any, str, dict[str, list[str]]], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class SentWebhook:
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


async def fan_out(webhook: SentWebhook, recorded: Recorded, database: Database) -> None:
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
    if (await database.read(_CROWD))[0][0] >= MOST_WAITING:
        raise LaterError(engine.now() + _WAIT_MS)
    body = None if "after" in given else write_body(webhook, given, engine.now())
    after = given.get("after")
    found = await webhook.receivers.page(database, given["event"], given["owner"], after, PAGE)
    message = job.uid.rpartition("@")[2].partition("/")[0]
    effects = _deliveries(engine, job, webhook.name, message, found.ids)
    if body is not None and found.ids:
        effects.insert(0, (_KEEP, (message, webhook.name, given["event"], body, engine.now())))
    if found.after is not None:
        rest = {"event": given["event"], "owner": given["owner"], "after": found.after}
        page = f"/{kept_key(str(found.after))}"
        coming = fan_out_job(webhook.name, message, json.dumps(rest), job.cause, page=page)
        effects.append(enqueue(coming, engine.now()))
    await engine.change(job, _STEP, effects)


def write_body(webhook: SentWebhook, given: Mapping[str, Any], now: int) -> str:
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


def delivery(webhook: str, message: str, receiver: str) -> tuple[str, str]:
    """Return the name of a delivery, which is that of its job, and what the job is given."""
    uid = f"{WEBHOOKS}{webhook}@{message}/{kept_key(receiver)}"
    return uid, json.dumps({"delivery": uid, "message": message, "receiver": receiver})


def _deliveries(
    engine: Engine, job: Claim, webhook: str, message: str, receivers: Sequence[str]
) -> list[Statement]:
    """Return the one statement that makes a job for each receiver; none without any."""
    rows = []
    for ord_, receiver in enumerate(receivers):
        uid, payload = delivery(webhook, message, receiver)
        made = write_new_job(NewJob(uid, f"{WEBHOOKS}{webhook}", payload, priority=BULK))
        rows.append({"ord": ord_, "name": made, "key": uid, "payload": payload,
                     "at": engine.now(), "cause": job.uid, "depth": job.cause.depth})  # fmt: skip
    if not rows:
        return []
    into = "INSERT INTO _bbops_outbox (name, key, payload, at, cause, depth, job)"
    told = f"SELECT '', key, payload, at, cause, depth, name FROM {engine.dialect.new_events}"
    return [(f"{into} {told} ORDER BY ord", (json.dumps(rows),))]
