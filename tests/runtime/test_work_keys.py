"""Keys of jobs: unique, debounced, what runs when one is dead, renamed. On both databases."""

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
from bbops.runtime.values.failures import Unavailable
from bbops.runtime.work.control import WorkControl
from bbops.runtime.work.events import CHECK_INTERVAL_MS, EventOutbox, QueueLimit
from bbops.runtime.work.statements import emit
from bbops.runtime.work.values import Tick
from bbops.runtime.work.worker import Worker
from bbops.source.tree import MemoryTree
from tests.conftest import Files
from tests.support.work_bench import Bench, bench, place

__all__ = ["bench", "place"]

SAY = 'payload: { id: string, n: integer }\nsteps:\n  - log: { message: "${ event.payload.n }" }\n'
FAIL = "steps:\n  - throw: { status: 500, message: no }\n"
FAILED = """
payload: { work: string, error: string }
steps:
  - log: { message: "${ event.payload.work } ${ event.payload.error }" }
"""
ONCE = "event: a.happened\nunique: { key: event.payload.id, for: 1h }\nfunction: say\n"
LAST = "event: a.happened\ndebounce: { key: event.payload.id, for: 10s }\nfunction: say\n"
DYING = "event: b.happened\nretry: { attempts: 1 }\nonDead: failed\nfunction: fail\n"
PLAIN = "bbops: 1\nname: work\n"
HOUR = 3_600_000


class Shop:
    """A release of some files, and what its jobs have logged."""

    def __init__(self, on: Bench, place: Place, files: Files) -> None:
        engine = "sqlite" if isinstance(place, Path) else "postgres"
        built = build(MemoryTree({"project.yaml": PLAIN, **files}), database=engine)  # type: ignore[arg-type]
        assert built.project is not None, [str(one) for one in built.diagnostics]
        self.on, self.kept = on, KeptLog()
        release = link(
            built.artifact, name="a", host=replace(fake_host(on.database), log=self.kept), env={}
        )
        work = link_work(built.artifact, release)
        assert work is not None
        self.work: Work = work
        self.on.engine.dead_job_triggers, self.on.engine.reports_missed = (
            work.hears_dead,
            work.hears_missed,
        )

    async def happen(self, event: str, payload: Any) -> None:
        await self.on.database.write_all([emit(event, json.dumps(payload), self.on.at)])

    async def work_off(self) -> list[Any]:
        """Work until nothing is to be done; return what was logged."""
        worker = Worker(self.on.engine, self.work.plan, lambda: 0.5)
        working = asyncio.create_task(worker.run())
        busy = (
            "SELECT 1 FROM _bbops_outbox UNION ALL SELECT 1 FROM _bbops_jobs WHERE state IN"
            " ('ready', 'running') OR (state = 'later' AND run_at <= ?)"
        )
        while await self.on.database.read(busy, (self.on.at,)) or worker.running:
            await asyncio.sleep(0.002)
            assert not working.done(), working.result()
        working.cancel()
        await asyncio.wait({working})
        found = [message for _, message, _ in self.kept.lines]
        self.kept.lines.clear()
        return found


Do = Callable[[Shop], Awaitable[None]]
Run = Callable[..., None]


@pytest.fixture
def shop(bench: Callable[[Any], None], place: Place) -> Run:
    def run(do: Do, **files: str) -> None:
        async def work(on: Bench) -> None:
            await do(Shop(on, place, {f"{k.replace('__', '/')}.yaml": v for k, v in files.items()}))

        bench(work)

    return run


def test_what_comes_again_with_a_key_runs_nothing_for_a_time(shop: Run) -> None:
    async def do(on: Shop) -> None:
        for n in (1, 2):
            await on.happen("a.happened", {"id": "x", "n": n})
        await on.happen("a.happened", {"id": "y", "n": 3})
        assert await on.work_off() == [1, 3]
        on.on.at += HOUR - 1
        await on.happen("a.happened", {"id": "x", "n": 4})
        assert await on.work_off() == []
        on.on.at += 1
        await on.happen("a.happened", {"id": "x", "n": 5})
        assert await on.work_off() == [5]

    shop(do, triggers__once=ONCE, functions__say=SAY)


def test_the_time_of_a_key_is_that_of_events_however_late_they_are_looked_at(shop: Run) -> None:
    async def do(on: Shop) -> None:
        for n in range(5):
            await on.happen("a.happened", {"id": "x", "n": n})
            on.on.at += HOUR // 2
        assert await on.work_off() == [0, 2, 4]

    shop(do, triggers__once=ONCE, functions__say=SAY)


def test_of_what_comes_in_a_row_only_the_last_runs(shop: Run) -> None:
    async def do(on: Shop) -> None:
        for n in range(3):
            await on.happen("a.happened", {"id": "x", "n": n})
            await on.work_off()
            on.on.at += 9_999
        assert await on.work_off() == []
        await on.happen("a.happened", {"id": "y", "n": 7})
        on.on.at += 1
        assert await on.work_off() == [2]
        on.on.at += 10_000
        assert await on.work_off() == [7]

    shop(do, triggers__last=LAST, functions__say=SAY)


def test_a_debounced_job_that_is_held_takes_what_comes(shop: Run) -> None:
    async def do(on: Shop) -> None:
        control = WorkControl(on.on.database, on.on.dialect, now=lambda: on.on.at)
        await on.happen("a.happened", {"id": "x", "n": 1})
        await on.work_off()
        await control.hold("by hand")
        await on.happen("a.happened", {"id": "x", "n": 2})
        on.on.at += 10_000
        assert await on.work_off() == []
        await control.release()
        assert await on.work_off() == [2]

    shop(do, triggers__last=LAST, functions__say=SAY)


def test_a_function_runs_when_a_job_is_dead(shop: Run) -> None:
    async def do(on: Shop) -> None:
        await on.happen("b.happened", {})
        assert await on.work_off() == ["triggers/dying no"]

    shop(do, triggers__dying=DYING, functions__fail=FAIL, functions__failed=FAILED)


def test_a_function_that_fails_for_a_dead_job_does_not_run_for_itself(shop: Run) -> None:
    async def do(on: Shop) -> None:
        await on.happen("b.happened", {})
        for _ in range(8):
            await on.work_off()
            on.on.at += 2 * HOUR
        states = await on.on.states()
        assert sorted(states.values()) == ["dead", "dead"]

    shop(do, triggers__dying=DYING.replace("failed", "fail"), functions__fail=FAIL)


def test_a_trigger_that_is_renamed_takes_its_jobs_along(shop: Run) -> None:
    async def before(on: Shop) -> None:
        await on.happen("a.happened", {"id": "x", "n": 1})
        await on.on.engine.pump(on.work.plan.route)
        files = {
            "triggers/new.yaml": f"{ONCE}renamedFrom: once\n", "functions/say.yaml": SAY,
        }  # fmt: skip
        place = Path("x.sqlite") if on.on.dialect.lanes_lock == "" else None
        renamed = Shop(on.on, place, files)  # type: ignore[arg-type]
        await renamed.happen("a.happened", {"id": "x", "n": 2})
        assert await renamed.work_off() == [1]

    shop(before, triggers__once=ONCE, functions__say=SAY)


TASK = """
every: 1h
jitter: 10m
missed: skip
input: { n: 7 }
function: given
"""
GIVEN = 'input: { n: integer, m?: integer }\nsteps:\n  - log: { message: "${ input.n }" }\n'
MISSED = "event: bbops.task-missed\nfunction: missed\n"
TELL = """
payload: { task: string, count: integer }
steps:
  - log: { message: "${ event.payload.task } ${ event.payload.count }" }
"""


def test_a_task_gives_its_input_and_begins_within_its_jitter(shop: Run) -> None:
    async def do(on: Shop) -> None:
        await on.on.engine.set_ticks(on.work.tasks.first(on.on.at))
        ((due,),) = await on.on.database.read("SELECT next_at FROM _bbops_ticks")
        on.on.at = due
        await on.on.engine.tick(on.work.plan.due)
        ((run_at,),) = await on.on.database.read("SELECT run_at FROM _bbops_jobs")
        assert due < run_at < due + 600_000
        assert await on.work_off() == []
        on.on.at = run_at
        assert await on.work_off() == [7]

    shop(do, tasks__given=TASK, functions__given=GIVEN)


def test_a_task_that_did_not_run_is_an_event(shop: Run) -> None:
    async def do(on: Shop) -> None:
        await on.on.engine.set_ticks(on.work.tasks.first(on.on.at))
        on.on.at += 5 * HOUR + HOUR // 2
        await on.on.engine.tick(on.work.plan.due)
        assert await on.work_off() == ["tasks/given 5"]

    shop(do, tasks__given=TASK, functions__given=GIVEN, triggers__missed=MISSED,
         functions__missed=TELL)  # fmt: skip


def test_a_task_that_is_renamed_keeps_its_next_time(shop: Run) -> None:
    async def do(on: Shop) -> None:
        await on.on.engine.set_ticks([Tick("tasks/old", on.on.at + 5, "")])
        control = WorkControl(on.on.database, on.on.dialect, now=lambda: on.on.at)
        await control.rename_ticks(on.work.renamed)
        await control.rename_ticks(on.work.renamed)
        (tick,) = await control.ticks()
        assert (tick.task, tick.at) == ("tasks/given", on.on.at + 5)

    shop(do, tasks__given=f"{TASK}renamedFrom: old\n", functions__given=GIVEN)


def test_a_full_queue_refuses_what_requests_add_and_takes_what_jobs_do(shop: Run) -> None:
    async def do(on: Shop) -> None:
        database, dialect = on.on.database, on.on.dialect
        room = QueueLimit(database, lambda: on.on.at, 2)
        asked = EventOutbox(database, dialect, lambda: on.on.at, limit=room)
        for n in range(3):
            await on.happen("a.happened", {"id": str(n), "n": n})
        for _ in range(2):
            with pytest.raises(Unavailable) as refused:
                await asked.emit("a.happened", {})
            assert (refused.value.status, refused.value.code) == (503, "queueFull")
        await EventOutbox(database, dialect, lambda: on.on.at).emit("c.happened", {})
        await on.on.engine.pump(on.work.plan.route)
        on.on.at += CHECK_INTERVAL_MS
        with pytest.raises(Unavailable):
            await asked.emit("a.happened", {})
        assert sorted(await on.work_off()) == [0, 1, 2]
        on.on.at += CHECK_INTERVAL_MS
        await asked.emit("d.happened", {})

    shop(do, triggers__once=ONCE, functions__say=SAY)


SLOW = """
steps:
  - try:
      - loop: { over: range(100000), steps: [{ set: { a: 1 } }] }
    catch:
      - log: { message: caught }
"""


def test_limits_have_codes_that_people_see(shop: Run) -> None:
    async def do(on: Shop) -> None:
        await on.happen("b.happened", {})
        assert await on.work_off() == ["triggers/dying it took longer than 0.001 s [jobTimeout]"]

    shop(do, triggers__dying=f"{DYING}timeout: 1ms\n", functions__fail=SLOW,
         functions__failed=FAILED)  # fmt: skip
