"""Jobs that functions enqueue: made once, in order, asked about, cancelled. On both databases."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, ClassVar

import pytest

from bbops.database.schema.place import Place
from bbops.runtime.work.control import KEPT_MS, WorkControl
from bbops.runtime.work.events import EventOutbox
from bbops.runtime.work.jobs import is_of_function
from bbops.runtime.work.run_record import RunRecord
from bbops.runtime.work.triggers import lane_of
from bbops.runtime.work.values import HIGH, NewJob
from tests.support.work_bench import Bench, bench, job, place
from tests.support.work_release import Enqueuing

__all__ = ["bench", "place"]

ASK = """
input: { n: integer, key?: string }
steps:
  - enqueue: { function: double, input: { n: "${ input.n }" }, unique: "${ input.key }" }
    as: job
  - return: { value: "${ vars.job }" }
"""
DOUBLE = """
input: { n: integer, more: { type: integer, default: 1 } }
job: { lane: { key: input.n }, priority: high, timeout: 1m, retry: { attempts: 1 } }
steps:
  - if: input.n == 13
    then:
      - throw: { status: 500, message: not that one }
  - return: { value: { twice: "${ input.n * 2 + input.more }" } }
"""
LATER = """
steps:
  - enqueue: { function: double, input: { n: 1 }, delay: 1h }
    as: job
  - return: { value: "${ vars.job.id }" }
"""
HALF = """
steps:
  - transaction:
      - enqueue: { function: double, input: { n: 1 } }
      - throw: { status: 500 }
"""
STATUS = """
input: { id: string }
steps:
  - jobStatus: { job: "${ input.id }" }
    as: found
  - return: { value: "${ vars.found }" }
"""
CANCEL = """
input: { id: string }
steps:
  - cancel: { job: "${ input.id }" }
    as: found
  - return: { value: "${ vars.found }" }
"""
CHAIN = """
input: { n: integer }
steps:
  - enqueue: { function: chain, input: { n: "${ input.n + 1 }" } }
"""
NAME = """
input: { word: string }
steps:
  - enqueue: { function: named, input: { word: "${ input.word }" } }
    as: job
  - return: { value: "${ vars.job }" }
"""
NAMED = """
input: { word: string }
job: { lane: { key: input.word } }
steps:
  - log: { message: "${ input.word }" }
"""
FILES = {
    "project.yaml": "bbops: 1\nname: work\n", "functions/ask.yaml": ASK,
    "functions/double.yaml": DOUBLE, "functions/later.yaml": LATER, "functions/half.yaml": HALF,
    "functions/status.yaml": STATUS, "functions/cancel.yaml": CANCEL,
    "functions/chain.yaml": CHAIN, "functions/name.yaml": NAME, "functions/named.yaml": NAMED,
}  # fmt: skip


class Shop(Enqueuing):
    """A release with the functions above."""

    files: ClassVar[Mapping[str, str]] = FILES


def run(bench: Any, place: Place, work: Callable[[Shop], Awaitable[None]]) -> None:
    bench(lambda on: work(Shop(on, place)))


def test_a_job_of_a_function_runs_and_keeps_what_it_returned(bench: Any, place: Place) -> None:
    async def work(shop: Shop) -> None:
        made = await shop.call("ask", n=20)
        assert made["isNew"]
        assert made["id"].startswith("functions/double@")
        waiting = {"state": "ready", "attempts": 0, "result": None, "error": None}
        assert await shop.status(made["id"]) == waiting
        await shop.pump()
        assert await shop.status(made["id"]) == waiting
        assert await shop.work_off() == [made["id"]]
        done = {"state": "done", "attempts": 1, "result": {"twice": 41}, "error": None}
        assert await shop.status(made["id"]) == done
        assert await shop.status("functions/double@nothing") is None
        assert await shop.status("triggers/double@1") is None

    run(bench, place, work)


def test_its_function_says_how_its_jobs_run(bench: Any, place: Place) -> None:
    async def work(shop: Shop) -> None:
        for _ in range(2):
            await shop.call("ask", n=20)
        await shop.call("ask", n=21)
        await shop.pump()
        rows = await shop.on.database.read(
            "SELECT lane, priority, state FROM _bbops_jobs ORDER BY id"
        )
        lane = "functions/double/{}".format
        assert [tuple(row) for row in rows] == [
            (lane(20), HIGH, "ready"), (lane(20), HIGH, "blocked"), (lane(21), HIGH, "ready"),
        ]  # fmt: skip

    run(bench, place, work)


def test_a_job_that_fails_says_why(bench: Any, place: Place) -> None:
    async def work(shop: Shop) -> None:
        made = await shop.call("ask", n=13)
        await shop.work_off()
        dead = {"state": "dead", "attempts": 1, "result": None, "error": "not that one"}
        assert await shop.status(made["id"]) == dead

    run(bench, place, work)


def test_a_delayed_job_waits_for_its_time(bench: Any, place: Place) -> None:
    async def work(shop: Shop) -> None:
        uid = await shop.call("later")
        assert await shop.work_off() == []
        assert (await shop.status(uid))["state"] == "later"
        shop.on.at += 3_599_999
        assert await shop.work_off() == []
        shop.on.at += 1
        assert await shop.work_off() == [uid]

    run(bench, place, work)


def test_while_a_job_of_one_key_waits_there_is_no_other(bench: Any, place: Place) -> None:
    async def work(shop: Shop) -> None:
        first = await shop.call("ask", n=1, key="a")
        assert await shop.call("ask", n=1, key="a") == {"id": first["id"], "isNew": False}
        assert (await shop.call("ask", n=1, key="b"))["isNew"]
        assert (await shop.call("ask", n=1, key="x" * 300))["isNew"]
        assert not (await shop.call("ask", n=1, key="x" * 300))["isNew"]
        await shop.pump()
        assert not (await shop.call("ask", n=2, key="a"))["isNew"]
        while await shop.work_off():
            pass
        assert (await shop.call("ask", n=1, key="a"))["isNew"]
        assert (await shop.call("ask", n=13, key="dead"))["isNew"]
        await shop.work_off()
        assert (await shop.call("ask", n=13, key="dead"))["isNew"]

    run(bench, place, work)


def test_of_many_at_once_with_one_key_one_makes_the_job(bench: Any, place: Place) -> None:
    async def work(shop: Shop) -> None:
        made = await asyncio.gather(*(shop.call("ask", n=1, key="a") for _ in range(20)))
        assert sum(one["isNew"] for one in made) == 1
        assert len({one["id"] for one in made}) == 1
        assert len(await shop.work_off()) == 1

    run(bench, place, work)


def test_what_is_rolled_back_makes_no_job(bench: Any, place: Place) -> None:
    async def work(shop: Shop) -> None:
        try:
            await shop.call("half")
        except Exception:  # noqa: BLE001 - it throws
            assert await shop.work_off() == []
        else:
            raise AssertionError("it returned")

    run(bench, place, work)


def test_a_job_can_be_cancelled_until_it_has_ended(bench: Any, place: Place) -> None:
    async def work(shop: Shop) -> None:
        first, second = [(await shop.call("ask", n=n))["id"] for n in (1, 2)]
        assert await shop.call("cancel", id=first) is True
        assert await shop.status(first) is None
        await shop.pump()
        assert await shop.call("cancel", id=second) is True
        assert (await shop.status(second))["state"] == "cancelled"
        assert await shop.call("cancel", id=second) is False
        assert await shop.work_off() == []
        await shop.on.emit("order.paid")
        assert await shop.call("cancel", id="triggers/paid@1") is False

    run(bench, place, work)


def test_an_attempt_that_is_repeated_makes_its_job_once(bench: Any, place: Place) -> None:
    async def work(shop: Shop) -> None:
        await shop.call("chain", n=1)
        await shop.pump()
        (claim,) = (await shop.on.claim()).values()
        for _ in range(3):  # killed before it ends, each time
            known = await shop.on.engine.steps(claim)
            await shop.work.plan.run(RunRecord(shop.on.engine, claim, known))
        assert await shop.on.database.read("SELECT count(*) FROM _bbops_outbox") == [(1,)]
        await shop.on.engine.end(claim)
        await shop.pump()
        (row,) = await shop.on.database.read("SELECT cause, depth, payload FROM _bbops_jobs")
        cause = f"{claim.uid} at functions/chain.yaml:4"
        assert tuple(row) == (cause, 1, '{"input":{"n":3}}')

    run(bench, place, work)


def test_functions_that_enqueue_themselves_stop_after_sixteen_jobs(
    bench: Any, place: Place
) -> None:
    async def work(shop: Shop) -> None:
        await shop.call("chain", n=1)
        ran = 0
        while await shop.work_off():
            ran += 1
        assert ran == 17
        (row,) = await shop.on.database.read("SELECT error FROM _bbops_jobs WHERE state = 'dead'")
        assert "16 jobs in a row have caused one another" in row[0]

    run(bench, place, work)


def test_what_is_swept_is_forgotten(bench: Any, place: Place) -> None:
    async def work(shop: Shop) -> None:
        made = await shop.call("ask", n=1, key="a")
        await shop.work_off()
        control = WorkControl(shop.on.database, shop.on.dialect, now=lambda: shop.on.at)
        await control.sweep()
        assert (await shop.status(made["id"]))["state"] == "done"
        assert await shop.on.database.read("SELECT count(*) FROM _bbops_keys") == [(0,)]
        shop.on.at += KEPT_MS + 1
        await control.sweep()
        assert await shop.status(made["id"]) is None

    run(bench, place, work)


@pytest.mark.parametrize("text", ["", "\u202e", "x" * 10_000])
def test_a_key_may_be_any_text(bench: Any, place: Place, text: str) -> None:
    async def work(shop: Shop) -> None:
        first, second = [await shop.call("ask", n=1, key=text) for _ in range(2)]
        assert [first["isNew"], second["isNew"]] == [True, False]
        assert await shop.status(f"functions/{text}") is None
        assert await shop.call("cancel", id=f"functions/{text}") is False
        made = await shop.call("name", word=text)
        await shop.pump()
        assert {(await shop.status(one["id"]))["state"] for one in (first, made)} == {"ready"}

    run(bench, place, work)


@pytest.mark.parametrize("text", ["\0", "a\ud800", "\n"])
def test_a_key_that_no_database_takes_stops_nothing(bench: Any, place: Place, text: str) -> None:
    """What comes without a shape may hold any character of JSON."""

    async def work(shop: Shop) -> None:
        on = shop.on
        lane = lane_of("work", lambda _: text, "")
        on.routes["odd"] = lambda event: [job(f"odd@{event.id}", lane=lane)]
        await on.emit("odd", {"key": text})
        await on.emit("odd")
        await on.pump()
        assert await on.states() == {"odd@1": "ready", "odd@2": "blocked"}
        outbox = EventOutbox(on.database, on.dialect, lambda: on.at)
        uids = [f"functions/double@{number}" for number in (1, 2)]
        made = [await outbox.enqueue("functions/double", one, {"input": {"n": 1}}, unique=text)
                for one in uids]  # fmt: skip
        assert made == [uids[0], uids[0]]
        assert not is_of_function(f"functions/{text}")

    run(bench, place, work)


def test_a_job_that_dies_is_told_of_once_and_not_by_who_hears_of_it(bench: Any) -> None:
    async def work(on: Bench) -> None:
        on.engine.dead_job_triggers = frozenset({"triggers/dead"})
        hearing = NewJob("hears", "triggers/dead", "{}")
        await on.enqueue(job("a"), job("stolen"), job("tried"), hearing)
        jobs = await on.claim()
        await on.database.change("UPDATE _bbops_jobs SET fence = 9 WHERE uid = 'stolen'")
        await on.engine.fail(jobs["tried"], "try again", on.at)
        for name in ("a", "stolen", "hears"):
            await on.engine.fail(jobs[name], "it is over", None)
        rows = await on.database.read("SELECT name, key, payload, cause, depth FROM _bbops_outbox")
        told = {"job": "a", "work": "work", "error": "it is over", "attempts": 1}
        assert [(*row[:2], json.loads(row[2]), *row[3:]) for row in rows] == [
            ("bbops.job-dead", "a", told, "a", 1)
        ]

    bench(work)
