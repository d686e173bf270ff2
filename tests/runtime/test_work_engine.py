"""The engine of work outside of requests keeps what it promises, on both databases."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbops.runtime.values.failures import FlowError
from bbops.runtime.work.engine import LEASE_MS
from bbops.runtime.work.outbox import emit, enqueue
from bbops.runtime.work.results import pack, unpack
from bbops.runtime.work.values import Cause, FencedError, NewJob, Tick, TickDue
from tests.support.work_bench import Bench, Work, bench, job, place

__all__ = ["bench", "place"]


# ---- from events to jobs
def test_an_event_makes_each_of_its_jobs_once(bench: Callable[[Work], None]) -> None:
    async def work(on: Bench) -> None:
        on.routes["paid"] = lambda event: [job(f"{name}@{event.id}") for name in ("mail", "book")]
        await on.emit("paid", {"total": 3}, key="7")
        await on.emit("unheard")
        assert await on.pump() == 2
        assert await on.pump() == 0
        assert len(await on.claim()) == 2
        logged = await on.database.read("SELECT seq, name, key, payload FROM _bbops_events")
        assert logged == [(1, "paid", "7", '{"total": 3}'), (2, "unheard", "", "null")]

    bench(work)


def test_of_two_pumps_one_moves_an_event(bench: Callable[[Work], None]) -> None:
    async def work(on: Bench) -> None:
        on.routes["paid"] = lambda event: [job(f"mail@{event.id}")]
        for _ in range(40):
            await on.emit("paid")
        other = on.worker("two")
        moved = await asyncio.gather(*(
            one.pump(on.route) for one in (on.engine, other) * 4
        ))  # fmt: skip
        assert sum(moved) == 40
        assert len(await on.states()) == 40
        seqs = await on.database.read("SELECT seq FROM _bbops_events ORDER BY seq")
        assert [row[0] for row in seqs] == [*range(1, 41)]

    bench(work)


def test_what_was_undone_makes_no_job(bench: Callable[[Work], None]) -> None:
    async def work(on: Bench) -> None:
        with suppress(KeyError):
            async with on.database.transaction() as transaction:
                await transaction.write_all([emit("paid", "{}", on.at), enqueue(job("a"), on.at)])
                raise KeyError
        assert await on.pump() == 0

    bench(work)


def test_a_job_that_waits_is_replaced_by_the_next_of_its_uid_when_it_is_debounced(
    bench: Callable[[Work], None],
) -> None:
    async def work(on: Bench) -> None:
        def first(payload: str, run_at: int) -> NewJob:
            return NewJob("sum@7", "sum", payload, run_at=run_at, is_debounced=True)

        await on.enqueue(first("1", on.at + 10), first("2", on.at + 20))
        await on.enqueue(first("3", on.at + 30))
        on.at += 30
        await on.engine.wake_due()
        (claimed,) = await on.engine.claim(9)
        assert claimed.payload == "3"
        await on.enqueue(first("4", on.at))
        (other,) = await on.engine.claim(9)
        assert (other.payload, other.id != claimed.id) == ("4", True)

    bench(work)


# ---- lanes
def test_jobs_of_a_lane_run_one_by_one_in_the_order_of_commits(
    bench: Callable[[Work], None],
) -> None:
    async def work(on: Bench) -> None:
        await on.enqueue(*(job(f"{lane}{at}", lane=lane) for at in range(3) for lane in "ab"))
        done: list[str] = []
        while claimed := await on.claim():
            assert len(claimed) == 2
            for one in claimed.values():
                assert await on.engine.end(one)
            done += claimed
        assert done == ["a0", "b0", "a1", "b1", "a2", "b2"]
        assert await on.states() == {}

    bench(work)


def test_a_lane_stays_taken_while_its_job_waits_to_be_tried_again(
    bench: Callable[[Work], None],
) -> None:
    async def work(on: Bench) -> None:
        await on.enqueue(job("first", lane="a"), job("second", lane="a"))
        claimed = await on.claim()
        assert await on.engine.fail(claimed["first"], "oh", on.at + 100)
        await on.enqueue(job("third", lane="a"))
        assert await on.states() == {"first": "later", "second": "blocked", "third": "blocked"}
        assert await on.claim() == {}
        on.at += 100
        assert await on.engine.wake_due() == on.at
        claimed = await on.claim()
        assert claimed["first"].attempt == 2
        await on.engine.fail(claimed["first"], "oh", None)
        assert await on.states() == {"first": "dead", "second": "ready", "third": "blocked"}

    bench(work)


def test_a_lane_with_seats_lets_so_many_run(bench: Callable[[Work], None]) -> None:
    async def work(on: Bench) -> None:
        await on.enqueue(*(job(str(at), lane="a", seats=2) for at in range(5)))
        await on.enqueue(job("5", lane="a", seats=2))
        sizes = []
        while claimed := await on.claim():
            sizes.append(len(claimed))
            for one in claimed.values():
                await on.engine.end(one)
        assert sizes == [2, 2, 2]

    bench(work)


# ---- claims
def test_what_is_more_urgent_is_claimed_before_and_each_eighth_claim_takes_the_oldest(
    bench: Callable[[Work], None],
) -> None:
    async def work(on: Bench) -> None:
        await on.enqueue(job("slow", priority=2))
        await on.enqueue(*(job(f"quick{at}", priority=0) for at in range(9)))
        taken = [next(iter(await on.claim(1))) for _ in range(8)]
        assert taken == [*(f"quick{at}" for at in range(7)), "slow"]

    bench(work)


def test_two_workers_never_have_the_same_job(bench: Callable[[Work], None]) -> None:
    async def work(on: Bench) -> None:
        await on.enqueue(*(job(str(at)) for at in range(60)))
        workers = [on.worker(str(at)) for at in range(6)]
        taken = await asyncio.gather(*(one.claim(15) for one in workers))
        every = [one.uid for some in taken for one in some]
        assert len(every) == len({*every})
        every += [one.uid for one in await on.engine.claim(60)]
        assert sorted(every) == sorted(map(str, range(60)))

    bench(work)


# ---- steps
def test_an_effect_and_the_record_of_its_step_are_one(bench: Callable[[Work], None]) -> None:
    async def work(on: Bench) -> None:
        await on.enqueue(job("a"))
        claimed = (await on.claim())["a"]
        note = "INSERT INTO _bbops_notes (name, text) VALUES (?, ?) RETURNING name"
        rows = await on.engine.change(claimed, "0", [(note, ("b", "c"))])
        assert rows == [[("b",)]]
        large = "x" * 100_000
        await on.engine.checkpoint(claimed, "1", large)
        assert await on.engine.steps(claimed) == {"0": [[["b"]]], "1": large}
        with pytest.raises(FlowError, match="larger than"):
            await on.engine.checkpoint(claimed, "2", "x" * 2_000_000)
        assert await on.engine.end(claimed)
        assert await on.database.read("SELECT 1 FROM _bbops_steps") == []
        kept = await on.database.read("SELECT uid, outcome, attempts FROM _bbops_job_log")
        assert kept == [("a", "done", 1)]

    bench(work)


def test_who_has_lost_a_job_writes_nothing_any_more(bench: Callable[[Work], None]) -> None:
    async def work(on: Bench) -> None:
        await on.enqueue(job("a", lane="x"), job("b", lane="x"))
        lost = (await on.claim())["a"]
        other = on.worker("two")
        assert await other.reclaim() == ["a"]
        (mine,) = await other.claim(5)
        assert (mine.uid, mine.attempt) == ("a", 2)
        note = "INSERT INTO _bbops_notes (name, text) VALUES ('lost', '')"
        with pytest.raises(FencedError):
            await on.engine.change(lost, "0", [(note, ())])
        assert await on.database.read("SELECT 1 FROM _bbops_notes WHERE name = 'lost'") == []
        assert not await on.engine.end(lost)
        assert not await on.engine.fail(lost, "oh", None)
        assert not await on.engine.sleep(lost, on.at)
        assert await on.states() == {"a": "running", "b": "blocked"}
        assert await other.end(mine)

    bench(work)


def unfolded(one: Any) -> Any:
    """Return a time that no change of the clock has brought twice: those are of zones alone."""
    return one.replace(fold=0)


@given(st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text() | st.binary()
    | st.floats(allow_nan=False) | st.decimals(allow_nan=False) | st.dates()
    | st.times().map(unfolded)
    | st.datetimes(timezones=st.just(UTC)).map(unfolded),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=9,
))  # fmt: skip
def test_what_is_recorded_comes_back_as_it_was(value: Any) -> None:
    again = unpack(pack(value))
    assert (again, repr(again)) == (value, repr(value))


def test_a_job_that_sleeps_has_not_failed(bench: Callable[[Work], None]) -> None:
    async def work(on: Bench) -> None:
        await on.enqueue(job("a"))
        await on.engine.sleep((await on.claim())["a"], on.at + LEASE_MS)
        assert await on.engine.wake_due() == on.at + LEASE_MS
        assert await on.claim() == {}
        on.at += LEASE_MS
        await on.engine.wake_due()
        assert (await on.claim())["a"].attempt == 1
        assert await on.engine.wake_due() is None

    bench(work)


# ---- ticks
def ten_later(tick: Tick, now: int) -> TickDue:
    del now
    return TickDue((tick.at,), tick.at + 10)


def test_a_tick_runs_once_whatever_two_servers_and_a_clock_do(
    bench: Callable[[Work], None],
) -> None:
    async def work(on: Bench) -> None:
        other = on.worker("two")
        await on.engine.set_ticks([Tick("nightly", on.at + 10), Tick("hourly", on.at + 5)])
        await other.set_ticks([Tick("nightly", on.at + 99), Tick("hourly", on.at + 99)])
        assert await on.engine.tick(ten_later) == 0
        on.at += 10
        await asyncio.gather(*(one.tick(ten_later) for one in (on.engine, other) * 3))
        on.at -= 8
        await on.engine.tick(ten_later)
        assert {*await on.states()} == {
            "nightly@1970-01-01T00:16:40.010Z",
            "hourly@1970-01-01T00:16:40.005Z",
        }

    bench(work)


def overlapping(how: Any) -> Callable[[Tick, int], TickDue]:
    return lambda tick, now: TickDue((tick.at,), now + 10, how)


@pytest.mark.parametrize(
    ("how", "states"),
    [
        ("skip", ["running"]),
        ("queue", ["blocked", "running"]),
        ("allow", ["ready", "ready", "running"]),
    ],
)
def test_a_tick_beside_a_run_that_has_not_ended(
    bench: Callable[[Work], None], how: str, states: list[str]
) -> None:
    async def work(on: Bench) -> None:
        await on.engine.set_ticks([Tick("slow", on.at)])
        await on.engine.tick(overlapping(how))
        (running,) = (await on.claim()).values()
        for _ in range(2):
            on.at += 10
            await on.engine.tick(overlapping(how))
        assert sorted((await on.states()).values()) == states
        await on.engine.end(running)
        assert {*(await on.states()).values()} <= {"ready"}
        on.at += 10
        await on.engine.tick(overlapping(how))
        assert len(await on.states()) == len(states)

    bench(work)


def test_a_task_that_is_gone_ticks_no_more_and_another_schedule_counts_anew(
    bench: Callable[[Work], None],
) -> None:
    async def work(on: Bench) -> None:
        await on.engine.set_ticks([Tick("a", on.at + 5, "daily"), Tick("b", on.at + 5, "daily")])
        await on.engine.set_ticks([Tick("a", on.at + 9, "daily")])
        on.at += 5
        await on.engine.tick(ten_later)
        assert [*await on.states()] == ["a@1970-01-01T00:16:40.005Z"]
        await on.engine.set_ticks([Tick("a", on.at + 1, "hourly")])
        on.at += 1
        await on.engine.tick(ten_later)
        assert [*await on.states()] == ["a@1970-01-01T00:16:40.005Z", "a@1970-01-01T00:16:40.006Z"]

    bench(work)


def test_a_job_that_is_held_keeps_its_seat_until_it_is_released(
    bench: Callable[[Work], None],
) -> None:
    async def work(on: Bench) -> None:
        await on.enqueue(job("a", lane="x"), job("b", lane="x"))
        first = (await on.claim())["a"]
        assert await on.engine.hold(first, "why")
        assert not await on.engine.end(first)
        assert await on.states() == {"a": "held", "b": "blocked"}

    bench(work)


def test_a_pump_moves_no_more_at_once_than_fits_into_memory(bench: Callable[[Work], None]) -> None:
    async def work(on: Bench) -> None:
        on.routes["big"] = lambda event: [job(f"a{event.id}")]
        for _ in range(12):
            await on.emit("big", "x" * 900_000)
        moved = []
        while count := await on.pump():
            moved.append(count)
        assert moved == [4, 4, 4]
        assert len(await on.states()) == 12

    bench(work)


def test_causes_and_depths_go_along(bench: Callable[[Work], None]) -> None:
    async def work(on: Bench) -> None:
        await on.enqueue(NewJob("a", "work", "[1]", cause=Cause("before", 3)))
        claimed = (await on.claim())["a"]
        assert (claimed.cause, claimed.payload) == (Cause("before", 3), "[1]")

    bench(work)
