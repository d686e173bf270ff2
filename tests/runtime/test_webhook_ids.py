"""Names of webhook deliveries: a second delivery of the same name runs nothing."""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from bbops.compiler.testing.host import fake_host
from bbops.runtime.work.events import EventOutbox
from bbops.runtime.work.signatures import WebhookSignature
from bbops.runtime.work.webhooks import DeliveryName, ReceivedWebhook
from tests.support.work_bench import Bench, Work, bench, place

__all__ = ["bench", "place"]

SECRET = "a-secret-of-the-shop"
IN_BODY = DeliveryName(body="data.id")
IN_HEADER = DeliveryName(header="X-Event-Id")


class Shop:
    """A webhook of a project; its deliveries are the events in the outbox."""

    def __init__(self, on: Bench, named_by: DeliveryName | None) -> None:
        self.on, self.host = on, fake_host(on.database)
        events = EventOutbox(on.database, on.dialect, lambda: on.at)
        self.host = replace(self.host, events=events)
        self.hook = ReceivedWebhook("paid", WebhookSignature("hmac", [SECRET], "x-sign"), named_by)

    async def send(self, body: Any, **headers: str) -> None:
        data = body if type(body) is bytes else json.dumps(body).encode()
        digest = hmac.digest(SECRET.encode(), data, "sha256").hex()
        given = {"x-sign": digest} | {key.replace("_", "-"): one for key, one in headers.items()}
        lines = [(name.encode(), value.encode()) for name, value in given.items()]
        assert (await self.hook.receive(self.host, lines, data)).status == 202

    async def runs(self) -> int:
        ((count,),) = await self.on.database.read("SELECT count(*) FROM _bbops_outbox")
        return int(count)


def run(
    bench: Callable[[Work], None], named_by: DeliveryName | None, work: Callable[[Shop], Any]
) -> None:
    bench(lambda on: work(Shop(on, named_by)))


def test_without_a_name_each_delivery_runs(bench: Callable[[Work], None]) -> None:
    async def work(shop: Shop) -> None:
        for _ in range(3):
            await shop.send({"ping": 1})
        assert await shop.runs() == 3

    run(bench, None, work)


def test_the_header_webhook_id_names_a_delivery(bench: Callable[[Work], None]) -> None:
    async def work(shop: Shop) -> None:
        for name in ("a", "a", "b"):
            await shop.send({"ping": 1}, webhook_id=name)
        assert await shop.runs() == 2

    run(bench, None, work)


def test_a_path_in_the_body_names_a_delivery_whatever_its_headers_say(
    bench: Callable[[Work], None],
) -> None:
    async def work(shop: Shop) -> None:
        for header in ("a", "b", "c"):
            await shop.send({"data": {"id": "evt_1"}}, webhook_id=header)
        assert await shop.runs() == 1
        await shop.send({"data": {"id": 7}, "try": 1})
        await shop.send({"data": {"id": 7}, "try": 2})
        for odd in ("x" * 5_000, "\x00", "a\nb"):
            await shop.send({"data": {"id": odd}})
            await shop.send({"data": {"id": odd}})
        assert await shop.runs() == 5

    run(bench, IN_BODY, work)


def test_a_header_of_the_author_names_a_delivery(bench: Callable[[Work], None]) -> None:
    async def work(shop: Shop) -> None:
        for name in ("1", "1", "2"):
            await shop.send({"data": {"id": "evt_1"}}, x_event_id=name)
        assert await shop.runs() == 2

    run(bench, IN_HEADER, work)


NAMELESS = [{}, {"data": {}}, {"data": None}, {"data": {"id": None}}, {"data": {"id": ""}},
            {"data": {"id": [1]}}, {"data": {"id": True}}, [], 1, "data"]  # fmt: skip


@pytest.mark.parametrize("body", NAMELESS, ids=str)
def test_a_delivery_whose_name_is_missing_runs_whenever_it_comes(
    bench: Callable[[Work], None], body: Any
) -> None:
    async def work(shop: Shop) -> None:
        await shop.send(body)
        await shop.send(body)
        assert await shop.runs() == 2

    run(bench, IN_BODY, work)
