"""What an engine of work promises, case by case: `CASES` hold for each that is one.

A case uses what `Engine` has and what `Bench` reads of a project's tables, and nothing else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Literal

import pytest

from bbops.runtime.values.failures import FlowError
from bbops.runtime.work.sql_engine import LEASE_MS
from bbops.runtime.work.statements import emit, enqueue
from bbops.runtime.work.values import Cause, FencedError, JobWait, NewJob, Tick, TickDue
from tests.support.work_bench import Bench, job

Case = Callable[[Bench], Awaitable[None]]
CASES: dict[str, Case] = {}


def case(work: Case) -> Case:
    CASES[work.__name__] = work  # type: ignore[attr-defined]
    return work


# ---- from events to jobs
@case
async def an_event_makes_each_of_its_jobs_once(on: Bench) -> None:
    on.routes["paid"] = lambda event: [job(f"{name}@{event.id}") for name in ("mail", "book")]
    await on.emit("paid", {"total": 3}, key="7")
    await on.emit("unheard")
    assert await on.pump() == 2
    assert await on.pump() == 0
    assert len(await on.claim()) == 2
    assert await on.log() == [(1, "paid", "7", '{"total": 3}'), (2, "unheard", "", "null")]


@case
async def of_two_pumps_one_moves_an_event(on: Bench) -> None:
    on.routes["paid"] = lambda event: [job(f"mail@{event.id}")]
    for _ in range(40):
        await on.emit("paid")
    other = on.worker("two")
    moved = await asyncio.gather(*(
        one.pump(on.route) for one in (on.engine, other) * 4
    ))  # fmt: skip
    assert sum(moved) == 40
    assert len(await on.states()) == 40
    assert [row[0] for row in await on.log()] == [*range(1, 41)]


@case
async def what_was_undone_makes_no_job(on: Bench) -> None:
    with suppress(KeyError):
        async with on.database.transaction() as transaction:
            await transaction.write_all([emit("paid", "{}", on.at), enqueue(job("a"), on.at)])
            raise KeyError
    assert await on.pump() == 0


@case
async def a_debounced_job_is_replaced_by_the_next_of_its_uid_while_it_waits(
    on: Bench,
) -> None:
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


# ---- lanes
@case
async def jobs_of_a_lane_run_one_by_one_in_the_order_of_commits(on: Bench) -> None:
    await on.enqueue(*(job(f"{lane}{at}", lane=lane) for at in range(3) for lane in "ab"))
    done: list[str] = []
    while claimed := await on.claim():
        assert len(claimed) == 2
        for one in claimed.values():
            assert await on.engine.end(one)
        done += claimed
    assert done == ["a0", "b0", "a1", "b1", "a2", "b2"]
    assert await on.states() == {}


@case
async def a_lane_stays_taken_while_its_job_waits_to_be_tried_again(on: Bench) -> None:
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


@case
async def a_lane_with_seats_lets_so_many_run(on: Bench) -> None:
    await on.enqueue(*(job(str(at), lane="a", seats=2) for at in range(5)))
    await on.enqueue(job("5", lane="a", seats=2))
    sizes = []
    while claimed := await on.claim():
        sizes.append(len(claimed))
        for one in claimed.values():
            await on.engine.end(one)
    assert sizes == [2, 2, 2]


# ---- claims
@case
async def each_eighth_claim_takes_the_oldest_others_what_is_more_urgent(
    on: Bench,
) -> None:
    await on.enqueue(job("slow", priority=2))
    await on.enqueue(*(job(f"quick{at}", priority=0) for at in range(9)))
    taken = [next(iter(await on.claim(1))) for _ in range(8)]
    assert taken == [*(f"quick{at}" for at in range(7)), "slow"]


@case
async def two_workers_never_have_the_same_job(on: Bench) -> None:
    await on.enqueue(*(job(str(at)) for at in range(60)))
    workers = [on.worker(str(at)) for at in range(6)]
    taken = await asyncio.gather(*(one.claim(15) for one in workers))
    every = [one.uid for some in taken for one in some]
    assert len(every) == len({*every})
    every += [one.uid for one in await on.engine.claim(60)]
    assert sorted(every) == sorted(map(str, range(60)))


# ---- steps
@case
async def an_effect_and_the_record_of_its_step_are_one(on: Bench) -> None:
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
    assert await on.records() == 0
    assert await on.ended() == [("a", "done", 1)]


@case
async def who_has_lost_a_job_writes_nothing_any_more(on: Bench) -> None:
    await on.enqueue(job("a", lane="x"), job("b", lane="x"))
    lost = (await on.claim())["a"]
    other = on.worker("two")
    assert await other.reclaim() == ["a"]
    (mine,) = await other.claim(5)
    assert (mine.uid, mine.attempt) == ("a", 2)
    note = "INSERT INTO _bbops_notes (name, text) VALUES ('lost', '')"
    with pytest.raises(FencedError):
        await on.engine.change(lost, "0", [(note, ())])
    assert "lost" not in await on.notes()
    assert not await on.engine.end(lost)
    assert not await on.engine.fail(lost, "oh", None)
    assert not await on.engine.sleep(lost, on.at)
    assert await on.states() == {"a": "running", "b": "blocked"}
    assert await other.end(mine)


@case
async def a_job_that_sleeps_has_not_failed(on: Bench) -> None:
    await on.enqueue(job("a"))
    await on.engine.sleep((await on.claim())["a"], on.at + LEASE_MS)
    assert await on.engine.wake_due() == on.at + LEASE_MS
    assert await on.claim() == {}
    on.at += LEASE_MS
    await on.engine.wake_due()
    assert (await on.claim())["a"].attempt == 1
    assert await on.engine.wake_due() is None


# ---- ticks
def ten_later(tick: Tick, now: int) -> TickDue:
    del now
    return TickDue((tick.at,), tick.at + 10)


@case
async def a_tick_runs_once_whatever_two_servers_and_a_clock_do(on: Bench) -> None:
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


def overlapping(how: Literal["skip", "queue", "allow"], states: list[str]) -> Case:
    def due(tick: Tick, now: int) -> TickDue:
        return TickDue((tick.at,), now + 10, how)

    async def work(on: Bench) -> None:
        await on.engine.set_ticks([Tick("slow", on.at)])
        await on.engine.tick(due)
        (running,) = (await on.claim()).values()
        for _ in range(2):
            on.at += 10
            await on.engine.tick(due)
        assert sorted((await on.states()).values()) == states
        await on.engine.end(running)
        assert {*(await on.states()).values()} <= {"ready"}
        on.at += 10
        await on.engine.tick(due)
        assert len(await on.states()) == len(states)

    return work


CASES |= {
    "a_tick_is_left_out_beside_a_run": overlapping("skip", ["running"]),
    "one_tick_waits_beside_a_run": overlapping("queue", ["blocked", "running"]),
    "ticks_run_side_by_side": overlapping("allow", ["ready", "ready", "running"]),
}


@case
async def a_task_that_is_gone_ticks_no_more_and_another_schedule_counts_anew(on: Bench) -> None:
    await on.engine.set_ticks([Tick("a", on.at + 5, "daily"), Tick("b", on.at + 5, "daily")])
    await on.engine.set_ticks([Tick("a", on.at + 9, "daily")])
    on.at += 5
    await on.engine.tick(ten_later)
    assert [*await on.states()] == ["a@1970-01-01T00:16:40.005Z"]
    await on.engine.set_ticks([Tick("a", on.at + 1, "hourly")])
    on.at += 1
    await on.engine.tick(ten_later)
    assert [*await on.states()] == ["a@1970-01-01T00:16:40.005Z", "a@1970-01-01T00:16:40.006Z"]


@case
async def a_job_that_is_held_keeps_its_seat_until_it_is_released(on: Bench) -> None:
    await on.enqueue(job("a", lane="x"), job("b", lane="x"))
    first = (await on.claim())["a"]
    assert await on.engine.hold(first, "why")
    assert not await on.engine.end(first)
    assert await on.states() == {"a": "held", "b": "blocked"}


@case
async def a_pump_moves_no_more_at_once_than_fits_into_memory(on: Bench) -> None:
    on.routes["big"] = lambda event: [job(f"a{event.id}")]
    for _ in range(12):
        await on.emit("big", "x" * 900_000)
    moved = []
    while count := await on.pump():
        moved.append(count)
    assert moved == [4, 4, 4]
    assert len(await on.states()) == 12


@case
async def causes_and_depths_go_along(on: Bench) -> None:
    await on.enqueue(NewJob("a", "work", "[1]", cause=Cause("before", 3)))
    claimed = (await on.claim())["a"]
    assert (claimed.cause, claimed.payload) == (Cause("before", 3), "[1]")


# ---- waits
@case
async def a_job_that_waits_for_an_event_misses_none_since_it_began(on: Bench) -> None:
    await on.emit("sent", 1)
    await on.pump()
    await on.enqueue(job("a"))
    claimed = (await on.claim())["a"]
    begun = await on.engine.listen(claimed, ["sent"])
    await on.emit("sent", 2)
    await on.pump()
    heard = await on.engine.events_after("sent", begun["sent", ""])
    assert [payload for _, _, payload in heard] == ["2"]
    wait = JobWait("0", on.at + 1_000, "sent", "", heard[-1][0])
    assert await on.engine.wait(claimed, [wait], also=[("~until", on.at + 1_000)])
    assert await on.states() == {"a": "later"}
    await on.emit("sent", 3)
    await on.pump()
    again = (await on.claim())["a"]
    assert again.attempt == 1
    assert await on.engine.steps(again) == {"~until": on.at + 1_000}


@case
async def an_event_that_comes_as_a_job_goes_to_sleep_wakes_it(on: Bench) -> None:
    await on.enqueue(job("a"))
    claimed = (await on.claim())["a"]
    begun = await on.engine.listen(claimed, ["sent"])
    await on.emit("sent")
    await on.pump()
    await on.engine.wait(claimed, [JobWait("0", on.at + 1_000, "sent", "", begun["sent", ""])])
    assert await on.states() == {"a": "ready"}


# ---- holds
@case
async def where_jobs_are_held_none_begins_but_runs_of_tasks(on: Bench) -> None:
    on.engine.hold_reason = "a draft"
    on.routes["paid"] = lambda event: [job(f"mail@{event.id}")]
    await on.emit("paid")
    await on.enqueue(NewJob("tasks/a@1", "tasks/a", "{}"))
    states = await on.states()
    assert {uid.partition("@")[0]: state for uid, state in states.items()} == {
        "mail": "held", "tasks/a": "ready"
    }  # fmt: skip


@case
async def an_engine_knows_until_when_there_is_nothing_to_do(on: Bench) -> None:
    assert await on.engine.idle_until() is not None
    await on.enqueue(job("a", run_at=on.at + 50))
    assert await on.engine.idle_until() == on.at + 50
    on.at += 50
    assert await on.engine.idle_until() is None
    await on.engine.wake_due()
    await on.claim()
    assert await on.engine.idle_until() is not None
    assert await on.worker("two").idle_until() is None  # there is a job to be reclaimed
