"""A worker: jobs that take their process along, and an end in the middle of one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from bbops.runtime.values.failures import PayloadFailure
from bbops.runtime.work.control import WorkControl
from bbops.runtime.work.run_record import RunRecord
from bbops.runtime.work.values import RetryPolicy, TickDue
from bbops.runtime.work.worker import CRASHED, Attempt, Seats, Worker, WorkPlan
from tests.support.work_bench import Bench, Work, bench, job, place

__all__ = ["bench", "place"]


async def nothing(recorded: RunRecord) -> None:
    recorded.begin()


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not is_so():
            await asyncio.sleep(0.005)


def make(
    on: Bench, name: str, run: object, told: list[Attempt], seats: Seats | None = None
) -> Worker:
    plan = WorkPlan(
        on.route,
        run,
        lambda _, __: TickDue(),
        lambda _: RetryPolicy(attempts=2),  # type: ignore[arg-type]
    )
    return Worker(on.worker(name), plan, lambda: 0.5, on_attempt=told.append, seats=seats)


async def end(working: asyncio.Task[None]) -> None:
    working.cancel()
    with suppress(asyncio.CancelledError):
        await working


def test_a_job_that_ends_its_process_each_time_is_given_up(bench: Callable[[Work], None]) -> None:
    async def work(on: Bench) -> None:
        await on.enqueue(job("a"))
        for name in ("first", "second"):  # each is killed while it runs the job
            killed = on.worker(name)
            await killed.reclaim()
            assert len(await killed.claim(1)) == 1
            on.at += 60_001
        told: list[Attempt] = []
        working = asyncio.create_task(make(on, "third", nothing, told).run())
        await until(lambda: bool(told))
        assert (told[0].outcome, told[0].reason) == ("dead", CRASHED)
        await WorkControl(on.database, on.dialect, now=lambda: on.at).retry("a")
        await until(lambda: len(told) > 1)
        assert (told[1].outcome, told[1].job.attempt) == ("done", 1)
        await end(working)

    bench(work)


def test_a_process_runs_no_more_jobs_than_it_has_seats(bench: Callable[[Work], None]) -> None:
    async def work(on: Bench) -> None:
        begun, gate = list[str](), asyncio.Event()

        async def wait(recorded: RunRecord) -> None:
            recorded.begin()
            begun.append(recorded.job.uid)
            await gate.wait()

        await on.enqueue(*(job(name) for name in "abcde"))
        seats, told = Seats(2), list[Attempt]()
        working = asyncio.create_task(make(on, "first", wait, told, seats).run())
        await until(lambda: len(begun) == 2)
        states = [*(await on.states()).values()]
        assert (states.count("running"), states.count("ready")) == (2, 3)
        gate.set()
        await until(lambda: len(told) == 5)
        await end(working)
        assert seats.reserve(asyncio.Event(), 9) == 2  # all of them are free again

    bench(work)


def test_a_worker_that_ends_puts_its_jobs_back_and_counts_no_attempt(
    bench: Callable[[Work], None],
) -> None:
    async def work(on: Bench) -> None:
        begun = list[str]()

        async def wait(recorded: RunRecord) -> None:
            recorded.begin()
            begun.append(recorded.job.uid)
            await asyncio.Event().wait()

        await on.enqueue(job("a"))
        working = asyncio.create_task(make(on, "first", wait, []).run())
        await until(lambda: begun == ["a"])
        await end(working)
        assert await on.states() == {"a": "later"}
        told: list[Attempt] = []
        working = asyncio.create_task(make(on, "second", nothing, told).run())
        await until(lambda: bool(told))
        assert (told[0].outcome, told[0].job.attempt) == ("done", 1)
        await end(working)

    bench(work)


def test_a_job_whose_payload_never_fits_is_dead_at_once_and_can_be_retried(
    bench: Callable[[Work], None],
) -> None:
    async def work(on: Bench) -> None:
        fits = asyncio.Event()

        async def read(recorded: RunRecord) -> None:
            if not fits.is_set():
                raise PayloadFailure("'number' must be a whole number")
            recorded.begin()

        await on.enqueue(job("a"))
        told: list[Attempt] = []
        working = asyncio.create_task(make(on, "first", read, told).run())
        await until(lambda: bool(told))
        reason = "'number' must be a whole number [payloadInvalid]"
        assert (told[0].outcome, told[0].reason, told[0].job.attempt) == ("dead", reason, 1)
        fits.set()
        await WorkControl(on.database, on.dialect, now=lambda: on.at).retry("a")
        await until(lambda: len(told) > 1)
        assert (told[1].outcome, told[1].job.attempt) == ("done", 1)
        await end(working)

    bench(work)
