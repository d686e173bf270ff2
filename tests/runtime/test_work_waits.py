"""Jobs that wait: for a time, for an event, through kills and holds. On both databases."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bbops.compiler.compile.release import build
from bbops.compiler.testing.host import KeptLog, fake_host
from bbops.database.schema.place import Place
from bbops.runtime.linking.release import link
from bbops.runtime.linking.work import Work, link_work
from bbops.runtime.work.control import DAY_MS, KEPT_MS, WorkControl
from bbops.runtime.work.sql_engine import WaitingJobs
from bbops.runtime.work.statements import emit
from bbops.runtime.work.triggers import ANY_VALUE, awaited_value, list_wakes
from bbops.runtime.work.values import NewJob, TickDue
from bbops.runtime.work.worker import Attempt, Worker
from bbops.source.tree import MemoryTree
from tests.support.work_bench import Bench, bench, place

__all__ = ["bench", "place"]

HOUR_MS = 3_600_000
PAUSE = """
input: { n: integer }
job: { lane: { key: input.n } }
steps:
  - log: { message: "before ${ input.n }" }
  - wait: { for: 3d }
  - log: { message: "after ${ input.n }" }
"""
ORDER = """
input: { id: string }
steps:
  - log: { message: "asks ${ input.id }" }
  - wait: { event: parcel.sent, where: event.payload.order == input.id, timeout: 2h }
    as: sent
  - log: { message: "${ input.id }: ${ 'nothing' if vars.sent == null else vars.sent.by }" }
"""
SCANS = """
steps:
  - loop:
      over: range(3)
      steps:
        - wait: { event: item.scanned }
          as: item
        - log: { message: "${ vars.item }" }
"""
BOTH = """
steps:
  - try:
      - parallel:
          left:
            - wait: { event: left.done, timeout: 1h }
              as: left
          right:
            - wait: { event: right.done }
              as: right
            - log: { message: right }
      - log: { message: "${ vars.left } ${ vars.right }" }
    finally:
      - log: { message: finally }
"""
STRANGE = """
steps:
  - wait: { event: parcel.sent, where: event.payload.order > 5, timeout: 2h }
    as: sent
  - log: { message: "${ vars.sent.order }" }
"""
NEVER = """
steps:
  - wait: { event: parcel.sent, where: event.payload.order == 'never' }
  - log: { message: over }
"""
START = "steps:\n" + "".join(
    f"  - enqueue: {{ function: {name}{given} }}\n"
    for name, given in [
        ("pause", ", input: { n: 1 }"), ("order", ", input: { id: a }"), ("scans", ""),
        ("both", ""), ("strange", ""), ("never", ""),
    ]
)  # fmt: skip
FILES = {
    "project.yaml": "bbops: 1\nname: work\n", "functions/pause.yaml": PAUSE,
    "functions/order.yaml": ORDER, "functions/scans.yaml": SCANS, "functions/both.yaml": BOTH,
    "functions/strange.yaml": STRANGE, "functions/never.yaml": NEVER,
    "functions/start.yaml": START,
}  # fmt: skip


class Shop:
    """A release with the functions above, and workers that run their jobs."""

    def __init__(self, on: Bench, place: Place) -> None:
        engine = "sqlite" if isinstance(place, Path) else "postgres"
        built = build(MemoryTree(FILES), database=engine)  # type: ignore[arg-type]
        errors = [str(one) for one in built.diagnostics if one.severity == "error"]
        assert built.project is not None, errors
        self.on, self.kept, self.attempts = on, KeptLog(), list[Attempt]()
        host = replace(fake_host(on.database), log=self.kept)
        release = link(built.artifact, name="a", host=host, env={})
        work = link_work(built.artifact, release)
        assert work is not None
        self.work: Work = work
        self.control = WorkControl(on.database, on.dialect, now=lambda: on.at)

    @property
    def log(self) -> list[str]:
        return [message for _, message, _ in self.kept.lines]

    async def begin(self, function: str, **given: Any) -> None:
        work = f"functions/{function}"
        await self.on.enqueue(NewJob(f"{work}@1", work, json.dumps({"input": given})))
        await self.work_off()

    async def work_off(self, name: str = "one") -> list[str]:
        """Work until nothing is to be done; return how the attempts ended."""
        engine = self.on.worker(name)
        told = list[Attempt]()
        plan = replace(self.work.plan, due=lambda _, __: TickDue())
        worker = Worker(engine, plan, lambda: 0.5, on_attempt=told.append)
        working = asyncio.create_task(worker.run())
        busy = (
            "SELECT 1 FROM _bbops_outbox UNION ALL"
            " SELECT 1 FROM _bbops_jobs WHERE state IN ('ready', 'running')"
            " OR (state = 'later' AND run_at <= ?)"
        )
        while await self.on.database.read(busy, (self.on.at,)) or worker.running:
            await asyncio.sleep(0.002)
            assert not working.done(), working.result()
        working.cancel()
        await asyncio.wait({working})
        return [one.outcome for one in told]

    async def tell(self, event: str, payload: Any = None, at: int | None = None) -> None:
        at = self.on.at if at is None else at
        await self.on.database.write_all([emit(event, json.dumps(payload), at)])


Do = Callable[[Shop], Awaitable[None]]


@pytest.fixture
def shop(bench: Callable[[Any], None], place: Place) -> Callable[[Do], None]:
    def run(do: Do) -> None:
        async def work(on: Bench) -> None:
            await do(Shop(on, place))

        bench(work)

    return run


def test_an_enqueued_input_that_never_fits_is_dead_at_once(shop: Callable[[Do], None]) -> None:
    async def do(on: Shop) -> None:
        given = json.dumps({"input": {"n": "many"}})
        await on.on.enqueue(NewJob("functions/pause@1", "functions/pause", given))
        assert await on.work_off() == ["dead"]
        assert await on.on.states() == {"functions/pause@1": "dead"}

    shop(do)


def test_a_job_sleeps_without_a_worker_and_goes_on_when_the_time_is_over(
    shop: Callable[[Do], None],
) -> None:
    async def do(on: Shop) -> None:
        await on.begin("pause", n=1)
        ((state, attempts, owner),) = await on.on.database.read(
            "SELECT state, attempts, owner FROM _bbops_jobs"
        )
        assert (state, attempts, owner, on.log) == ("later", 0, None, ["before 1"])
        on.on.at += 3 * DAY_MS - 1
        assert await on.work_off("two") == []
        on.on.at += 1
        assert await on.work_off("three") == ["done"]
        assert on.log == ["before 1", "after 1"]

    shop(do)


def test_a_job_that_sleeps_keeps_its_seat_in_its_lane(shop: Callable[[Do], None]) -> None:
    async def do(on: Shop) -> None:
        await on.begin("pause", n=1)
        work = "functions/pause"
        second = NewJob(f"{work}@2", work, '{"input": {"n": 1}}', lane=f"{work}/1")
        await on.on.database.change("UPDATE _bbops_jobs SET lane = ?", (f"{work}/1",))
        await on.on.enqueue(second)
        await on.work_off()
        assert await on.on.states() == {f"{work}@1": "later", f"{work}@2": "blocked"}
        on.on.at += 3 * DAY_MS
        assert await on.work_off() == ["done", "waiting"]

    shop(do)


def test_an_event_wakes_the_job_that_waits_for_it(shop: Callable[[Do], None]) -> None:
    async def do(on: Shop) -> None:
        await on.begin("order", id="a")
        await on.tell("parcel.sent", {"order": "b", "by": "train"})
        assert await on.work_off() == []
        await on.tell("parcel.sent", {"order": "a", "by": "ship"})
        assert await on.work_off() == ["done"]
        assert on.log == ["asks a", "a: ship"]

    shop(do)


def test_an_event_before_the_step_counts_and_one_before_the_job_does_not(
    shop: Callable[[Do], None],
) -> None:
    async def do(on: Shop) -> None:
        await on.tell("item.scanned", "before")
        await on.begin("scans")
        for item in ("one", "two"):
            await on.tell("item.scanned", item)
        assert await on.work_off() == ["waiting"]
        await on.tell("item.scanned", "three")
        assert await on.work_off() == ["done"]
        assert on.log == ["one", "two", "three"]

    shop(do)


def test_the_time_of_a_wait_is_that_of_the_event_not_of_the_worker(
    shop: Callable[[Do], None],
) -> None:
    async def do(on: Shop) -> None:
        await on.begin("order", id="a")
        began = on.on.at
        await on.tell("parcel.sent", {"order": "a", "by": "late"}, began + 2 * HOUR_MS + 1)
        on.on.at += 5 * HOUR_MS
        assert await on.work_off() == ["done"]
        assert on.log == ["asks a", "a: nothing"]

    shop(do)


def test_branches_wait_side_by_side_and_finally_runs_once(shop: Callable[[Do], None]) -> None:
    async def do(on: Shop) -> None:
        await on.begin("both")
        assert on.log == []
        await on.tell("right.done", "r")
        assert await on.work_off() == ["waiting"]
        assert on.log == ["right"]
        await on.tell("left.done", "l")
        assert await on.work_off("two") == ["done"]
        assert on.log == ["right", "l r", "finally"]

    shop(do)


def test_an_event_of_another_shape_is_passed_over(shop: Callable[[Do], None]) -> None:
    async def do(on: Shop) -> None:
        await on.begin("strange")
        await on.tell("parcel.sent", {"order": "text"})
        await on.tell("parcel.sent", None)
        await on.tell("parcel.sent", {"order": 6})
        assert (await on.work_off())[-1] == "done"
        assert on.log[-1] == 6

    shop(do)


def test_an_event_that_comes_while_the_job_is_held_is_not_missed(
    shop: Callable[[Do], None],
) -> None:
    async def do(on: Shop) -> None:
        await on.begin("order", id="a")
        await on.control.hold("by hand")
        await on.tell("parcel.sent", {"order": "a", "by": "ship"})
        assert await on.work_off() == []
        await on.control.release()
        assert await on.work_off() == ["done"]
        assert on.log == ["asks a", "a: ship"]

    shop(do)


def test_an_event_does_not_wake_a_job_that_waits_for_its_next_attempt(
    shop: Callable[[Do], None],
) -> None:
    async def do(on: Shop) -> None:
        await on.begin("order", id="a")
        await on.on.database.change("UPDATE _bbops_jobs SET run_at = ?", (on.on.at + 5,))
        await on.tell("parcel.sent", {"order": "a", "by": "ship"})
        assert await on.work_off() == []
        on.on.at += 5
        assert await on.work_off() == ["done"]

    shop(do)


def test_a_job_that_is_cancelled_waits_no_more(shop: Callable[[Do], None]) -> None:
    async def do(on: Shop) -> None:
        await on.begin("order", id="a")
        assert await on.control.cancel("functions/order@1")
        await on.tell("parcel.sent", {"order": "a", "by": "ship"})
        assert await on.work_off() == []
        await on.control.sweep()
        assert not await on.on.database.read("SELECT 1 FROM _bbops_awaited")

    shop(do)


def test_events_are_kept_for_a_job_that_may_wait_for_them(shop: Callable[[Do], None]) -> None:
    async def do(on: Shop) -> None:
        await on.tell("parcel.sent", {"order": "never"})
        await on.begin("never")
        await on.tell("parcel.sent", {"order": "x"})
        await on.tell("other.event", {})
        await on.tell("last.event", {})
        await on.work_off()
        on.on.at += KEPT_MS + 1
        await on.control.sweep()
        rows = await on.on.database.read("SELECT name, payload FROM _bbops_events ORDER BY seq")
        assert rows == [("parcel.sent", '{"order": "x"}'), ("last.event", "{}")]
        on.on.at += 365 * DAY_MS
        assert await on.work_off() == ["done"]
        await on.control.sweep()
        assert await on.on.database.read("SELECT name FROM _bbops_events") == [("last.event",)]

    shop(do)


def test_an_event_between_the_look_and_the_sleep_is_not_missed(
    shop: Callable[[Do], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def do(on: Shop) -> None:
        engine = on.on.engine
        events_after, told = WaitingJobs.events_after, list[str]()

        async def slow(self: WaitingJobs, event: str, since: int) -> Any:
            found = await events_after(self, event, since)
            if not told:
                told.append(event)
                await on.tell("parcel.sent", {"order": "a", "by": "ship"})
                while await on.on.database.read("SELECT 1 FROM _bbops_outbox"):
                    await engine.pump(on.work.plan.route)
            return found

        await on.on.enqueue(NewJob("functions/order@1", "functions/order", '{"input":{"id":"a"}}'))
        monkeypatch.setattr(WaitingJobs, "events_after", slow)
        worker = Worker(engine, on.work.plan, lambda: 0.5, on_attempt=on.attempts.append)
        working = asyncio.create_task(worker.run())
        while len(on.attempts) < 2:
            await asyncio.sleep(0.002)
        working.cancel()
        await asyncio.wait({working})
        assert [one.outcome for one in on.attempts] == ["waiting", "done"]
        assert on.log == ["asks a", "a: ship"]

    shop(do)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (True, "true"), (7, "#7"), (7.0, "#7"), ("a", "'a"), (None, ANY_VALUE), (7.5, ANY_VALUE),
        ({"a": 1}, ANY_VALUE), (float("inf"), ANY_VALUE),
    ],
)  # fmt: skip
def test_what_may_be_written_in_two_ways_is_not_compared(value: Any, written: str) -> None:
    assert awaited_value(value) == written


def test_a_payload_wakes_whoever_waits_for_a_value_in_it() -> None:
    payload = json.dumps({"a": [1, {"b": "x"}], "c": True, "d": "\x00" * 3})
    found = {one["value"] for one in list_wakes("e", payload)}
    assert found >= {ANY_VALUE, "#1", "'x", "true"}
    assert all(one.isprintable() for one in found)
    assert {one["value"] for one in list_wakes("e", "not json")} == {ANY_VALUE, "'not json"}
