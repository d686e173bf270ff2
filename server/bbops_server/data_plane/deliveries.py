"""Deliveries of a project's webhooks, for the parent."""

from __future__ import annotations

import json
import secrets
from typing import Final

from msgspec.structs import replace

from bbops.base.addresses import split
from bbops.base.diagnostics import suggest
from bbops.base.errors import ServerError
from bbops.base.json_work import Delivery, DeliveryStory, JsonReceiver
from bbops.runtime.flow.masking import MASK, is_hidden
from bbops.runtime.work.sent_webhooks import WEBHOOKS, DeliveryLog
from bbops.runtime.work.webhooks import ReceivedLog
from bbops_server.data_plane.jobs import Answers, database_of, masked
from bbops_server.data_plane.live.swap import Live
from bbops_server.process.messages.deliveries import (
    EnableReceiver,
    EnableReceiverAnswer,
    ListDeliveries,
    ListDeliveriesAnswer,
    ListReceivers,
    ReceiverList,
    RepeatDelivery,
    RepeatDeliveryAnswer,
    ShowDelivery,
    ShowDeliveryAnswer,
)


async def _list(live: Live, request: ListDeliveries) -> ListDeliveriesAnswer:
    found = list[Delivery]()
    if request.direction != "sent":
        found += await _log(live).list(request.most)
    if request.direction != "received":
        found += [_sent(live, one) for one in await _sent_log(live).list(request.most)]
    found.sort(key=lambda one: one.at, reverse=True)
    return ListDeliveriesAnswer(found[: request.most])


async def _show(live: Live, request: ShowDelivery) -> ShowDeliveryAnswer:
    if request.delivery.startswith(WEBHOOKS):
        return await _show_sent(live, request.delivery)
    found = await _log(live).show(request.delivery)
    if found is None:
        return ShowDeliveryAnswer(None)
    headers = [
        (name, MASK if is_signature or is_hidden(name) else masked(live, value))
        for name, value, is_signature in found.headers
    ]
    body = json.dumps(masked(live, json.loads(found.body)))
    return ShowDeliveryAnswer(DeliveryStory(found.delivery, headers, body, []))


async def _show_sent(live: Live, delivery: str) -> ShowDeliveryAnswer:
    found = await _sent_log(live).show(delivery)
    if found is None:
        return ShowDeliveryAnswer(None)
    tries = [
        replace(attempt, answer=masked(live, attempt.answer), error=masked(live, attempt.error))
        for attempt in found.tries
    ]
    body = json.dumps(masked(live, json.loads(found.body)))
    sent = _sent(live, found.delivery)
    return ShowDeliveryAnswer(replace(found, delivery=sent, body=body, tries=tries))


async def _repeat(live: Live, request: RepeatDelivery) -> RepeatDeliveryAnswer:
    if request.delivery.startswith(WEBHOOKS):
        token = secrets.token_hex(4)
        return RepeatDeliveryAnswer(await _sent_log(live).resend(request.delivery, token) or "")
    return RepeatDeliveryAnswer(await _log(live).replay(request.delivery) or "")


async def _receivers(live: Live, request: ListReceivers) -> ReceiverList:
    found = await _sent_log(live).receivers(request.most, disabled=request.disabled)
    return ReceiverList([
        JsonReceiver(webhook, show_url(one.id), show_url(one.url), one.disabled_at, one.problem)
        for webhook, one in found
    ])  # fmt: skip


async def _enable(live: Live, request: EnableReceiver) -> EnableReceiverAnswer:
    log = _sent_log(live)
    every = live.release.sent if live.release else {}
    if request.webhook not in every:
        hint = suggest(request.webhook, every) or "'bbops receivers list' shows those there are"
        raise ServerError(f"the project has no live webhook '{request.webhook}'", hint=hint)
    return EnableReceiverAnswer(await log.enable(request.webhook, request.receiver))


def show_url(url: str) -> str:
    """Return an address as it may be shown: many have a secret in their path."""
    parts = split(url)
    if parts is None:  # a row may hold anything
        return "…"
    if not parts.netloc:
        return url
    has_more = parts.path.strip("/") or parts.query
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{'/…' if has_more else ''}"


def _sent(live: Live, delivery: Delivery) -> Delivery:
    error = masked(live, delivery.error)
    return replace(delivery, receiver=show_url(delivery.receiver), error=error)


def _log(live: Live) -> ReceivedLog:
    return ReceivedLog(database_of(live))


def _sent_log(live: Live) -> DeliveryLog:
    return DeliveryLog(database_of(live), live.release.sent if live.release else {})


DELIVERY_ANSWERS: Final[Answers] = {
    ListDeliveries: _list, ShowDelivery: _show, RepeatDelivery: _repeat,
    ListReceivers: _receivers, EnableReceiver: _enable,
}  # fmt: skip
