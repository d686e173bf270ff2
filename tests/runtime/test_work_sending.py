"""Webhooks that are sent: to whom, signed, tried again, and to nobody who wants none."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, cast

import pytest
from standardwebhooks.webhooks import Webhook

from bbops.base.host import HttpRequest, HttpResponse
from bbops.compiler.testing.host import fake_host
from bbops.database.schema.place import Place
from bbops.runtime.steps.work import send
from bbops.runtime.values.failures import FlowError, Thrown
from bbops.runtime.work.sent_webhooks import DISABLED_AFTER_MS, RETRY
from tests.support.sending import ENV, SECRET, Shop, run_shop
from tests.support.work_bench import place

__all__ = ["place"]

A, B = "https://a.example/hook", "https://b.example/hook"
DAY_MS = 86_400_000


def answer(status: int, body: bytes = b"") -> HttpResponse:
    return HttpResponse(status, {}, body)


def shop(place: Place, work: Callable[[Shop], Awaitable[None]], **more: Any) -> None:
    run_shop(place, work, **more)


def test_each_receiver_of_an_owner_is_told_once_with_one_id(place: Place) -> None:
    async def work(shop: Shop) -> None:
        await shop.receiver("ada", A)
        await shop.receiver("ada", B, '["order.done"]')
        await shop.receiver("ada", "https://lost.example", '["order.lost"]')
        await shop.receiver("bob", "https://bob.example")
        message = await shop.call("done", customer="ada", number=7)
        await shop.work_off()
        assert sorted(shop.asked) == [A, B]
        assert {one.headers["webhook-id"] for one in shop.http.sent} == {message}
        (body,) = {one.body for one in shop.http.sent}
        told = json.loads(body)
        assert (told["type"], told["data"]) == ("order.done", {"number": 7})
        assert told["timestamp"].endswith("Z")
        assert await shop.states() == [("delivered", 1)] * 2

    shop(place, work)


def test_what_is_sent_is_signed_as_the_reference_library_says(place: Place) -> None:
    async def work(shop: Shop) -> None:
        await shop.receiver("ada", A)
        await shop.call("done", customer="ada", number=7)
        await shop.work_off()
        (request,) = shop.http.sent
        assert (request.method, request.follows, request.timeout_seconds) == ("POST", "none", 15.0)
        assert request.headers["webhook-timestamp"] == str(shop.on.at // 1000)
        signed = check(request)
        assert signed == request.headers["webhook-signature"]

    shop(place, work)


def check(request: HttpRequest) -> str:
    """Return the signature that the reference library makes."""
    from datetime import UTC, datetime  # noqa: PLC0415 - read beside what it is for

    at = datetime.fromtimestamp(int(request.headers["webhook-timestamp"]), UTC)
    return Webhook(SECRET).sign(request.headers["webhook-id"], at, request.body.decode())


def test_a_transaction_that_rolls_back_sends_nothing(place: Place) -> None:
    async def work(shop: Shop) -> None:
        await shop.receiver("ada", A)
        with pytest.raises(Thrown):
            await shop.call("done", customer="ada", number=7, rollback=True)
        assert await shop.work_off() == []
        assert shop.asked == []

    shop(place, work)


def test_a_draft_sends_nothing_and_logs_what_it_would_send() -> None:
    host = replace(fake_host(cast("Any", None)), sends=False)
    found = asyncio.run(send(host, "customers", "order.done", "ada", {"number": 7}))
    assert found["id"].startswith("msg_")
    ((level, said, told),) = cast("Any", host.log).lines
    assert (level, said) == ("info", "drafts send no webhooks: this one is only logged")
    assert told == {
        "webhook": "customers", "event": "order.done", "owner": "ada", "payload": {"number": 7}
    }  # fmt: skip


def test_a_payload_that_does_not_fit_its_event_is_sent_to_nobody(place: Place) -> None:
    async def work(shop: Shop) -> None:
        await shop.receiver("ada", A)
        await shop.call("done", customer="ada", number="many")
        (job,) = await shop.work_off()
        assert job.startswith("webhooks/customers/fan-out@msg_")
        ((state, error),) = await shop.on.database.read("SELECT state, error FROM _bbops_jobs")
        assert state == "later"
        assert error == (
            "the payload does not fit event 'order.done': 'number' must be a whole number"
        )
        assert shop.asked == []

    shop(place, work)


def test_a_message_is_tried_eight_times_with_one_id_and_then_given_up(place: Place) -> None:
    async def work(shop: Shop) -> None:
        await shop.receiver("ada", A)
        shop.http.answers[A] = answer(500, b"no")
        await shop.call("done", customer="ada", number=7)
        await shop.work_off()
        pauses = [5, 300, 1_800, 7_200, 18_000, 36_000, 36_000]
        for count, seconds in enumerate(pauses, 2):
            shop.on.at += 1_000 * seconds - 1
            assert await shop.work_off() == []
            shop.on.at += 1
            await shop.work_off()
            assert len(shop.http.sent) == count
        assert len({one.headers["webhook-id"] for one in shop.http.sent}) == 1
        assert len({one.headers["webhook-timestamp"] for one in shop.http.sent}) == 8
        assert await shop.states() == [("failed", 8)]
        assert await shop.on.database.read("SELECT state FROM _bbops_jobs") == [("dead",)]
        (sent,) = await shop.sent.list(10)
        story = await shop.sent.show(sent.id)
        assert story is not None
        assert [(one.status, one.answer) for one in story.tries] == [(500, "no")] * 8

    shop(place, work)


def test_pauses_are_a_tenth_shorter_or_longer() -> None:
    assert RETRY.pause_ms(2, 0.0) == 270_000
    assert RETRY.pause_ms(2, 1.0) == 330_000
    assert RETRY.pause_ms(8, 0.5) is None


def test_a_receiver_that_is_gone_is_disabled_at_once_and_can_be_enabled(place: Place) -> None:
    async def work(shop: Shop) -> None:
        key = await shop.receiver("ada", A)
        shop.http.answers[A] = answer(410)
        await shop.call("done", customer="ada", number=1)
        await shop.call("done", customer="ada", number=2)
        await shop.work_off()
        assert len(shop.asked) == 1
        assert sorted(await shop.states()) == [("dropped", 0), ("failed", 1)]
        ((_, disabled),) = await shop.sent.receivers(10, disabled=True)
        assert (disabled.id, disabled.secret) == (str(key), "")
        assert disabled.disabled_at == "1970-01-01T00:16:40Z"
        assert shop.said == [f"{key} is gone"]
        await shop.call("done", customer="ada", number=3)
        await shop.work_off()
        assert len(shop.asked) == 1

        shop.http.answers[A] = answer(204)
        shop.on.at += 3_600_000
        assert await shop.sent.enable("customers", str(key))
        assert not await shop.sent.enable("customers", str(key))
        for other in ("acme", "9" * 19, "1" * 5000):
            with pytest.raises(FlowError):
                await shop.sent.enable("customers", other)
        await shop.call("done", customer="ada", number=4)
        await shop.work_off()
        assert len(shop.asked) == 2

    shop(place, work)


@pytest.mark.parametrize("customer", [True, False], ids=["table", "fixed"])
def test_a_receiver_that_takes_nothing_for_five_days_is_disabled(
    place: Place, *, customer: bool
) -> None:
    async def work(shop: Shop) -> None:
        url = A if customer else ENV["PARTNER_URL"]
        await shop.receiver("ada", A)
        shop.http.answers[url] = answer(503)

        async def send() -> None:
            if customer:
                await shop.call("done", customer="ada", number=1)
            else:
                await shop.call("tell", number=1)
            await shop.work_off()

        await send()
        shop.on.at += DISABLED_AFTER_MS - 1
        await send()
        assert await shop.sent.receivers(10, disabled=True) == []
        shop.on.at += 600_000
        await send()
        ((webhook, one),) = await shop.sent.receivers(10, disabled=True)
        assert (webhook, one.id) == (
            ("customers", "1") if customer else ("partners", "PARTNER_URL")
        )
        assert shop.said == [f"{one.id} is failing"]
        before = len(shop.asked)
        await send()
        assert url not in shop.asked[before:]
        assert await shop.sent.enable(webhook, one.id)
        shop.on.at += 600_000
        await send()  # it is not disabled again by failures of before
        assert url in shop.asked[before:]
        assert await shop.sent.receivers(10, disabled=True) == []

    shop(place, work)


def test_a_success_forgets_that_a_receiver_was_failing(place: Place) -> None:
    async def work(shop: Shop) -> None:
        await shop.receiver("ada", A)
        for status, days in ((500, 0), (204, 4), (500, 4)):
            shop.on.at += days * DAY_MS
            shop.http.answers[A] = answer(status)
            await shop.call("done", customer="ada", number=1)
            await shop.work_off()
        assert await shop.sent.receivers(10, disabled=True) == []

    shop(place, work)
