"""Receivers of webhooks: whose rows are wrong, who are many, and who are slow."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from bbops.base.host import HttpResponse
from bbops.database.schema.place import Place
from bbops.runtime.values.failures import HttpFailure
from bbops.runtime.work.receivers import (
    FIRST_PAUSE_MS,
    LONGEST_PAUSE_MS,
    MAX_CONCURRENT,
    MAX_RECEIVERS,
    ReceiverGate,
)
from bbops.runtime.work.run_record import RunRecord
from bbops.runtime.work.sent_webhooks import MAX_WAITING, PAGE
from bbops.runtime.work.values import BULK, NewJob
from tests.support.sending import ENV, SECRET, Shop, run_shop
from tests.support.work_bench import place

__all__ = ["place"]

A, B = "https://a.example/hook", "https://b.example/hook"
DAY_MS = 86_400_000


def answer(status: int, body: bytes = b"") -> HttpResponse:
    return HttpResponse(status, {}, body)


def shop(place: Place, work: Callable[[Shop], Awaitable[None]], **more: Any) -> None:
    run_shop(place, work, **more)


def test_receivers_that_a_project_lists_are_all_told(place: Place) -> None:
    async def work(shop: Shop) -> None:
        await shop.call("tell", number=7)
        await shop.work_off()
        assert sorted(shop.asked) == [ENV["PARTNER_URL"], "https://second.example/hook"]
        ids = sorted(one.id.partition("/")[2] for one in await shop.sent.list(10))
        assert [one.rpartition("/")[2] for one in ids] == ["PARTNER_URL", "hook"]

    shop(place, work)


def test_without_its_secret_a_receiver_is_not_asked_and_the_variable_is_named(
    place: Place,
) -> None:
    async def work(shop: Shop) -> None:
        await shop.call("tell", number=7)
        await shop.work_off()
        errors = await shop.on.database.read("SELECT error FROM _bbops_jobs ORDER BY id")
        lacking = "receiver '{}' cannot be asked: set {}"
        assert [error for (error,) in errors] == [
            lacking.format("PARTNER_URL", "PARTNER_URL, PARTNER_SECRET"),
            lacking.format("https://second.example/hook", "PARTNER_SECRET"),
        ]
        assert shop.asked == []

    shop(place, work, env={})


@pytest.mark.parametrize(
    ("column", "value", "error"),
    [
        ("secret", "not base64", "the receiver's secret is not base64 of 24 bytes or more"),
        ("secret", "whsec_c2hvcnQ=", "the receiver's secret is not base64 of 24 bytes or more"),
        ("secret", "", "the receiver's secret is not base64 of 24 bytes or more"),
    ],
)
def test_a_receiver_whose_row_is_wrong_fails_alone(
    place: Place, column: str, value: str, error: str
) -> None:
    async def work(shop: Shop) -> None:
        key = await shop.receiver("ada", A)
        await shop.receiver("ada", B)
        await shop.on.database.write(
            f'UPDATE receivers SET "{column}" = ? WHERE id = ?', (value, key)
        )
        await shop.call("done", customer="ada", number=7)
        await shop.work_off()
        assert shop.asked == [B]
        assert error in [one.error for one in await shop.sent.list(10)]

    shop(place, work)


EVENTS = "'events' needs a list of names such as ['order.done'], or null for all events; got "


@pytest.mark.parametrize(
    ("events", "asked", "problem"),
    [
        (None, [A], ""),
        ("null", [A], ""),
        ('["order.done"]', [A], ""),
        ('"order.done"', [A], ""),
        ('"order.lost"', [], ""),
        ("[]", [], ""),
        ('{"order.done": true}', [], f"{EVENTS}map"),
        ("7", [], f"{EVENTS}number"),
        ("true", [], f"{EVENTS}boolean"),
        ('""', [], f"{EVENTS}an empty name"),
        ('["order.done", 1]', [A], f"{EVENTS}number among them"),
        ('["order.done", null]', [A], f"{EVENTS}null among them"),
    ],
)
def test_receiver_gets_its_events_or_a_reason(
    place: Place, events: str | None, asked: list[str], problem: str
) -> None:
    async def work(shop: Shop) -> None:
        await shop.receiver("ada", A, events)
        for number in (1, 2):
            await shop.call("done", customer="ada", number=number)
            await shop.work_off()
        assert shop.asked == asked * 2
        listed = await shop.sent.receivers(10, disabled=False)
        assert [each.problem for name, each in listed if name == "customers"] == [problem]
        line = f"receiver '1' of webhook 'customers' misses events: {problem}"
        assert shop.said == ([line] if problem else [])  # once for two events

    shop(place, work)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (answer(302), "it answered 302"),
        (answer(199), "it answered 199"),
        (answer(300), "it answered 300"),
        (answer(500, b"a\0b\xff" * 2_000), "it answered 500"),
        (HttpFailure("httpTimeout", "'a.example' did not answer in time"),
         "'a.example' did not answer in time"),
        (HttpFailure("httpRefused", "address not allowed"), "address not allowed"),
    ],
)  # fmt: skip
def test_all_but_2xx_is_tried_again(place: Place, given: Any, error: str) -> None:
    async def work(shop: Shop) -> None:
        await shop.receiver("ada", A)
        shop.http.answers[A] = given
        await shop.call("done", customer="ada", number=7)
        await shop.work_off()
        (sent,) = await shop.sent.list(10)
        assert (sent.state, sent.error) == ("waiting", error)
        story = await shop.sent.show(sent.id)
        assert story is not None
        assert len(story.tries[0].answer) <= 1_024

    shop(place, work)


def test_a_receiver_that_was_removed_meanwhile_is_not_asked(place: Place) -> None:
    async def work(shop: Shop) -> None:
        await shop.receiver("ada", A)
        shop.http.answers[A] = answer(500)
        await shop.call("done", customer="ada", number=7)
        await shop.work_off()
        await shop.on.database.write("DELETE FROM receivers")
        shop.on.at += 6_000
        await shop.work_off()
        assert len(shop.asked) == 1
        (sent,) = await shop.sent.list(10)
        assert (sent.state, sent.error) == ("dropped", "the receiver is removed")
        assert await shop.on.database.read("SELECT uid FROM _bbops_jobs") == []

    shop(place, work)


def test_a_message_is_sent_again_with_its_id(place: Place) -> None:
    async def work(shop: Shop) -> None:
        await shop.receiver("ada", A)
        message = await shop.call("done", customer="ada", number=7)
        await shop.work_off()
        (sent,) = await shop.sent.list(10)
        job = await shop.sent.resend(sent.id, "x")
        assert job == f"webhooks/customers@{message}/1/x"
        assert await shop.sent.resend("webhooks/customers@msg_2/1", "x") is None
        assert await shop.work_off() == [job]
        assert [one.headers["webhook-id"] for one in shop.http.sent] == [message] * 2
        assert await shop.states() == [("delivered", 2)]

    shop(place, work)


def test_the_secret_of_a_receiver_is_in_no_table_but_its_own(place: Place) -> None:
    async def work(shop: Shop) -> None:
        await shop.receiver("ada", A)
        shop.http.answers[A] = answer(500)
        await shop.call("done", customer="ada", number=7)
        await shop.call("tell", number=7)
        await shop.work_off()
        tables = ("outbox", "jobs", "job_log", "events", "messages", "sent", "tries", "receivers")
        kept = [await shop.on.database.read(f"SELECT * FROM _bbops_{one}") for one in tables]
        text = json.dumps([kept, shop.log.lines], default=str)
        assert "order.done" in text
        assert SECRET not in text
        assert SECRET.removeprefix("whsec_")[:20] not in text

    shop(place, work)


def test_many_receivers_are_read_in_pages_and_each_has_one_job(place: Place) -> None:
    many = 2 * PAGE + 200

    async def work(shop: Shop) -> None:
        rows = json.dumps([str(number) for number in range(many)])
        await shop.on.database.write(
            "INSERT INTO receivers (customer_id, url, secret)"
            " SELECT 'ada', 'https://a.example/' || value, 's'"
            f" FROM ({shop.on.dialect.texts}) AS t",
            (rows,),
        )
        await shop.call("done", customer="ada", number=7)
        pages = 0
        while True:
            while await shop.on.engine.pump(shop.work.plan.route, shop.work.plan.arrange):
                pass
            claimed = await shop.on.engine.claim(50)
            if not claimed:
                break
            (page,) = claimed
            # its process ends behind the commit: the page is not read again
            known = RunRecord(shop.on.engine, page, await shop.on.engine.steps(page))
            await shop.work.plan.run(known)
            again = RunRecord(shop.on.engine, page, await shop.on.engine.steps(page))
            await shop.work.plan.run(again)
            await shop.on.engine.end(page)
            pages += 1
        assert pages == 3
        counted = "SELECT count(*), count(DISTINCT uid), min(priority) FROM _bbops_jobs"
        assert await shop.on.database.read(counted) == [(many, many, BULK)]

    shop(place, work)


def test_the_next_page_waits_while_many_deliveries_do(place: Place) -> None:
    async def work(shop: Shop) -> None:
        await shop.receiver("ada", A)
        rows = json.dumps([str(number) for number in range(MAX_WAITING)])
        await shop.on.database.write(
            "INSERT INTO _bbops_jobs (uid, work, payload, state, priority, created_at)"
            f" SELECT 'x' || value, 'work', '{{}}', 'ready', {BULK}, 0"
            f" FROM ({shop.on.dialect.texts}) AS t",
            (rows,),
        )
        await shop.call("done", customer="ada", number=7)
        await shop.on.engine.pump(shop.work.plan.route, shop.work.plan.arrange)
        (page,) = await shop.on.engine.claim(50)
        await shop.attempt(page)
        state = "SELECT state, run_at, attempts FROM _bbops_jobs WHERE uid LIKE '%fan-out%'"
        assert await shop.on.database.read(state) == [("later", shop.on.at + 1_000, 0)]

    shop(place, work)


def test_deliveries_have_seats_of_their_own(place: Place) -> None:
    async def work(shop: Shop) -> None:
        bulk = [NewJob(f"bulk{n}", "work", "{}", priority=BULK) for n in range(30)]
        await shop.on.enqueue(*bulk, *(NewJob(f"job{n}", "work", "{}") for n in range(3)))
        claimed = await shop.on.engine.claim(2, bulk=4)
        assert [one.uid for one in claimed] == ["job0", "job1", "bulk0", "bulk1", "bulk2", "bulk3"]
        assert [one.is_bulk for one in claimed] == [False] * 2 + [True] * 4
        assert [one.uid for one in await shop.on.engine.claim(2)] == ["job2"]
        for _ in range(9):  # also when it is the turn of the oldest
            assert await shop.on.engine.claim(2) == []

    shop(place, work)


def test_a_receiver_that_fails_is_asked_by_one_delivery_at_a_time_after_a_pause() -> None:
    gate, who = ReceiverGate(), ("w", "r")
    entered = [gate.enter(who, 0) for _ in range(MAX_CONCURRENT + 2)]
    assert entered[:MAX_CONCURRENT] == [None] * MAX_CONCURRENT
    assert entered[MAX_CONCURRENT:] == [200, 400]
    for _ in range(MAX_CONCURRENT):
        gate.leave(who, 0, succeeded=False)
    assert gate.enter(who, 0) == LONGEST_PAUSE_MS // 300_000 * 80_000 + 200
    assert gate.enter(("w", "other"), 0) is None
    later = 16 * FIRST_PAUSE_MS
    assert gate.enter(who, later) is None
    assert gate.enter(who, later) == later + 400
    gate.leave(who, later, succeeded=True)
    assert gate.enter(who, later) is None


def test_a_gate_remembers_a_bounded_number_of_receivers() -> None:
    gate = ReceiverGate()
    for number in range(MAX_RECEIVERS + 10):
        who = ("w", str(number))
        assert gate.enter(who, 0) is None
        gate.leave(who, 0, succeeded=False)
    assert len(gate._states) == MAX_RECEIVERS
