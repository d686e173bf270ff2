"""People hold, release, retry and cancel jobs, and lanes keep their order through it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bbops.runtime.work.control import DAY_MS, KEPT_MS, WorkControl
from bbops.runtime.work.values import REMOVED_SUFFIX, FencedError, JobWait
from tests.support.work_bench import Bench, Work, bench, job, place

__all__ = ["bench", "place"]


def control(on: Bench) -> WorkControl:
    return WorkControl(on.database, on.dialect, now=lambda: on.at)


def test_what_is_held_begins_only_when_it_is_released(bench: Callable[[Work], None]) -> None:
    async def work(on: Bench) -> None:
        await on.enqueue(job("a1", lane="a"), job("a2", lane="a"), job("later", run_at=on.at + 9))
        await on.enqueue(job("free"))
        assert await control(on).hold("restored") == 4
        assert await on.claim() == {}
        await on.enqueue(job("a3", lane="a"), job("new"))
        assert [*await on.claim()] == ["new"]
        assert await control(on).counts() == {"blocked": 1, "held": 4, "running": 1}
        assert await control(on).release(reason="other") == 0
        assert await control(on).release(["free"]) == 1
        assert await control(on).release() == 3
        assert await on.states() == {
            "a1": "ready", "a2": "blocked", "later": "later", "free": "ready", "a3": "blocked",
            "new": "running",
        }  # fmt: skip

    bench(work)


def test_as_many_go_on_as_a_lane_has_seats(bench: Callable[[Work], None]) -> None:
    async def work(on: Bench) -> None:
        await on.enqueue(*(job(str(at), lane="a", seats=3) for at in range(5)))
        await control(on).hold("restored")
        await control(on).release()
        assert await control(on).counts() == {"blocked": 2, "ready": 3}

    bench(work)


def test_a_dead_job_is_tried_again_behind_those_of_its_lane(bench: Callable[[Work], None]) -> None:
    async def work(on: Bench) -> None:
        await on.enqueue(job("a1", lane="a"), job("a2", lane="a"))
        first = (await on.claim())["a1"]
        await on.engine.checkpoint(first, "0", 7)
        await on.engine.fail(first, "oh", None)
        assert (await control(on).jobs(state="dead"))[0].error == "oh"
        assert await control(on).retry("a1")
        assert await on.states() == {"a1": "blocked", "a2": "ready"}
        await on.engine.end((await on.claim())["a2"])
        again = (await on.claim())["a1"]
        assert await on.engine.steps(again) == {"0": 7}
        await on.engine.fail(again, "oh", None)
        assert await control(on).retry("a1", from_start=True)
        assert await on.engine.steps((await on.claim())["a1"]) == {}
        assert not await control(on).retry("a1")
        assert not await control(on).retry("unknown")

    bench(work)


def test_a_held_job_and_one_that_waits_for_a_time_run_on_request(
    bench: Callable[[Work], None],
) -> None:
    async def work(on: Bench) -> None:
        await on.enqueue(job("a"), job("b"), job("c"), job("far", run_at=2**41), job("d"))
        claimed = await on.claim()
        await on.engine.fail(claimed["a"], "oh", on.at + 5_000)
        await on.engine.fail(claimed["b"], "oh", None)
        wait = JobWait("functions/c.yaml:3#1.1", on.at + 9_000, event="parcel.sent")
        await on.engine.wait(claimed["c"], [wait])
        await on.engine.hold(claimed["d"], "held by hand")
        assert [await control(on).run(one) for one in ("a", "far", "d")] == [True] * 3
        assert [await control(on).run(one) for one in ("a", "b", "c", "unknown")] == [False] * 4
        again = await on.claim()
        assert {uid: one.attempt for uid, one in again.items()} == {"a": 2, "far": 1, "d": 2}
        assert await on.states() == {
            "a": "running", "b": "dead", "c": "later", "far": "running", "d": "running",
        }  # fmt: skip

    bench(work)


def test_a_job_that_is_to_run_keeps_to_the_order_of_its_lane(
    bench: Callable[[Work], None],
) -> None:
    async def work(on: Bench) -> None:
        await on.enqueue(job("a1", lane="a"), job("a2", lane="a"))
        await control(on).hold("by hand")
        assert await control(on).run("a2")
        assert await on.states() == {"a1": "held", "a2": "blocked"}
        assert await control(on).run("a1")
        assert await on.states() == {"a1": "ready", "a2": "blocked"}

    bench(work)


def test_a_job_that_is_cancelled_ends_at_its_next_step_and_opens_its_lane(
    bench: Callable[[Work], None],
) -> None:
    async def work(on: Bench) -> None:
        await on.enqueue(job("a1", lane="a"), job("a2", lane="a"), job("a3", lane="a"))
        running = (await on.claim())["a1"]
        assert await control(on).cancel("a2")
        assert await control(on).cancel("a1")
        assert not await control(on).cancel("a1")
        assert await on.states() == {"a3": "ready"}
        with pytest.raises(FencedError):
            await on.engine.checkpoint(running, "0", None)
        log = await on.database.read("SELECT uid, outcome FROM _bbops_job_log ORDER BY id")
        assert [*map(tuple, log)] == [("a1", "cancelled"), ("a2", "cancelled")]

    bench(work)


def test_a_job_says_what_it_waits_for(bench: Callable[[Work], None]) -> None:
    async def waits(on: Bench, uid: str) -> list[str]:
        story = await control(on).details(uid)
        assert story is not None
        return [*story.waits]

    async def work(on: Bench) -> None:
        await on.enqueue(job("a1", lane="a"), job("a2", lane="a"), job("b"), job("c", run_at=2**41))
        claimed = await on.claim()
        assert await waits(on, "b") == []
        assert await waits(on, "a2") == ["its turn in lane a: a1 is running"]
        assert await waits(on, "c") == ["the time 2039-09-07T15:47:35.552Z"]
        await on.engine.fail(claimed["a1"], "oh", on.at + 5_000)
        assert await waits(on, "a1") == ["attempt 2, at 1970-01-01T00:16:45Z"]
        wait = JobWait("functions/b.yaml:3#1.1", on.at + 9_000, event="parcel.sent")
        await on.engine.wait(claimed["b"], [wait])
        told = "event parcel.sent until 1970-01-01T00:16:49Z, at functions/b.yaml:3"
        assert await waits(on, "b") == [told]

    bench(work)


def test_what_is_old_is_forgotten_and_numbers_go_on(bench: Callable[[Work], None]) -> None:
    async def work(on: Bench) -> None:
        for _ in range(3):
            await on.emit("paid")
        await on.enqueue(job("a"))
        await on.engine.end((await on.claim())["a"])
        on.at += KEPT_MS + 1
        assert await control(on).sweep() == 3
        await on.emit("paid")
        await on.pump()
        seqs = await on.database.read("SELECT seq FROM _bbops_events ORDER BY seq")
        assert [row[0] for row in seqs] == [3, 4]

    bench(work)


def test_ended_jobs_and_events_are_kept_as_long_as_the_server_says(
    bench: Callable[[Work], None],
) -> None:
    async def work(on: Bench) -> None:
        await on.emit("paid")
        await on.emit("paid")
        await on.enqueue(job("a"))
        await on.engine.end((await on.claim())["a"])
        on.at += 2 * DAY_MS
        assert await control(on).sweep() == 0
        assert await control(on).sweep(3 * DAY_MS) == 0
        assert await control(on).sweep(DAY_MS) == 2
        assert await control(on).ended() == []

    bench(work)


def test_jobs_of_what_was_removed_are_dropped_after_a_week_and_open_their_lane(
    bench: Callable[[Work], None],
) -> None:
    async def work(on: Bench) -> None:
        await on.enqueue(job("a", lane="x"), job("b", lane="x"), job("c"), job("d"))
        claimed = await on.claim()
        await on.engine.hold(claimed["a"], f"the project has no 'triggers/a'{REMOVED_SUFFIX}")
        await on.engine.checkpoint(claimed["c"], "step", 1)
        await on.engine.hold(claimed["c"], f"the project has no 'triggers/c'{REMOVED_SUFFIX}")
        await on.engine.hold(claimed["d"], "held by hand")
        on.at += KEPT_MS - 1
        await control(on).sweep()
        assert await on.states() == {"a": "held", "b": "blocked", "c": "held", "d": "held"}
        on.at += 2
        await control(on).sweep()
        assert await on.states() == {"b": "ready", "c": "held", "d": "held"}
        assert [one.state for one in await control(on).ended()] == ["cancelled"]

    bench(work)
