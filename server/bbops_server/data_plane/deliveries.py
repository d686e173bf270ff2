"""Deliveries of a project's webhooks, for the parent."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from bbops.base.errors import ServerError
from bbops.base.json_deliveries import Delivery, DeliveryStory
from bbops.runtime.flow.masking import MASK, is_hidden
from bbops.runtime.values.failures import Failure
from bbops.runtime.work.deliveries import TRIGGERS, Received, ReceivedLog
from bbops_server.data_plane.jobs import database_of
from bbops_server.data_plane.live.swap import Live
from bbops_server.process.messages.data.list_deliveries import Deliveries, ListDeliveries
from bbops_server.process.messages.data.repeat_delivery import RepeatDelivery, Repeated
from bbops_server.process.messages.data.show_delivery import ShowDelivery, ShownDelivery
from bbops_server.process.messages.request import Answer
from bbops_server.process.messages.service import Handler, Handlers

DeliveryRequest: TypeAlias = ListDeliveries | ShowDelivery | RepeatDelivery


def delivery_handlers(
    find: Callable[[DeliveryRequest], Live], ring: Callable[[], None]
) -> Handlers:
    """Return what answers requests about deliveries.

    Args:
        find: returns what is live of their project.
        ring: wakes the work process.
    """

    def about(answer: Callable[[Live, Any], Awaitable[Answer]]) -> Handler:
        async def handle(request: DeliveryRequest) -> Answer:
            try:
                found = await answer(find(request), request)
            except Failure as failure:
                raise ServerError(failure.message) from None
            ring()
            return found

        return handle

    return {
        ListDeliveries: about(_list),
        ShowDelivery: about(_show),
        RepeatDelivery: about(_repeat),
    }


async def _list(live: Live, request: ListDeliveries) -> Deliveries:
    if request.direction == "sent":
        return Deliveries([])
    return Deliveries([_received(one) for one in await _log(live).list(request.most)])


async def _show(live: Live, request: ShowDelivery) -> ShownDelivery:
    found = await _log(live).show(request.delivery)
    if found is None:
        return ShownDelivery(None)
    headers = [
        (name, MASK if is_signature or is_hidden(name) else _masked(live, value))
        for name, value, is_signature in found.headers
    ]
    body = json.dumps(_masked(live, json.loads(found.body)))
    return ShownDelivery(DeliveryStory(_received(found.delivery), headers, body, []))


async def _repeat(live: Live, request: RepeatDelivery) -> Repeated:
    return Repeated(await _log(live).replay(request.delivery) or "")


def _received(one: Received) -> Delivery:
    return Delivery(one.id, "received", f"{TRIGGERS}{one.trigger}", one.at / 1000, "received")


def _masked(live: Live, value: Any) -> Any:
    """Return a value without secrets and private columns."""
    return live.release.answering.mask.value(value) if live.release else value


def _log(live: Live) -> ReceivedLog:
    return ReceivedLog(database_of(live))
