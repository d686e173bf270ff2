"""Whatever is done with jobs in whatever order: no lane is overfull, none is shut, none is lost."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from bbops.database.migrate import migrate
from bbops.database.sqlite.driver import Sqlite
from bbops.database.sqlite.work import SqliteWork
from bbops.runtime.work.control import WorkControl
from bbops.runtime.work.values import Claim, NewJob
from tests.support.work_bench import Bench

SEATS = {"": 1, "a": 1, "b": 1, "c": 2}
"""Lanes, and how many of each may run at a time."""


class Jobs(RuleBasedStateMachine):
    """One queue, two workers, and people who interfere."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.folder = tempfile.TemporaryDirectory()
        place = Path(self.folder.name) / "data.sqlite"
        migrate.apply(place, {})
        self.database = self.do(Sqlite.open(place))
        self.bench = Bench(self.database, SqliteWork())
        self.control = WorkControl(self.database, SqliteWork(), now=lambda: self.bench.at)
        self.running: dict[str, Claim] = {}
        self.left = dict[str, str]()
        self.begun: dict[str, list[int]] = {}
        self.made = self.workers = 0

    def do(self, work: Any) -> Any:
        return self.runner.run(work)

    def teardown(self) -> None:
        self.do(self.database.close())
        self.runner.close()
        self.folder.cleanup()

    @rule(lanes=st.lists(st.sampled_from([*SEATS]), min_size=1, max_size=4),
          delay=st.sampled_from([0, 0, 50]))  # fmt: skip
    def make(self, lanes: list[str], delay: int) -> None:
        jobs = []
        for lane in lanes:
            self.made += 1
            uid = f"{lane}{self.made}"
            self.left[uid] = lane
            at = self.bench.at + delay if delay else 0
            jobs.append(NewJob(uid, "work", "{}", lane=lane, seats=SEATS[lane], run_at=at))
        self.do(self.bench.enqueue(*jobs))

    @rule(most=st.integers(1, 4))
    def claim(self, most: int) -> None:
        for uid, one in self.do(self.bench.claim(most)).items():
            assert uid in self.left
            assert uid not in self.running
            self.running[uid] = one
            if one.lane and SEATS[one.lane] == 1 and one.attempt == 1 and one.fence == 1:
                self.begun.setdefault(one.lane, []).append(int(uid[1:]))

    @precondition(lambda self: self.running)
    @rule(data=st.data(), how=st.sampled_from(["end", "again", "die", "sleep"]))
    def settle(self, data: st.DataObject, how: str) -> None:
        uid = data.draw(st.sampled_from(sorted(self.running)))
        one, engine, later = self.running.pop(uid), self.bench.engine, self.bench.at + 100
        if how == "end":
            assert self.do(engine.end(one))
            del self.left[uid]
        elif how == "sleep":
            assert self.do(engine.sleep(one, later))
        else:
            assert self.do(engine.fail(one, "oh", later if how == "again" else None))

    @rule()
    def time_passes(self) -> None:
        self.bench.at += 100
        self.do(self.bench.engine.wake_due())

    @rule()
    def a_worker_dies(self) -> None:
        self.workers += 1
        other = self.bench.worker(f"worker {self.workers}")
        lost = self.do(other.reclaim())
        assert set(lost) == set(self.running)
        self.running.clear()
        self.bench.engine = other

    @rule()
    def hold(self) -> None:
        self.do(self.control.hold("restored"))

    @rule()
    def release(self) -> None:
        self.do(self.control.release())

    @precondition(lambda self: self.left)
    @rule(data=st.data(), how=st.sampled_from(["cancel", "retry"]))
    def interfere(self, data: st.DataObject, how: str) -> None:
        uid = data.draw(st.sampled_from(sorted(self.left)))
        if how == "retry":
            self.do(self.control.retry(uid))
            return
        assert self.do(self.control.cancel(uid))
        del self.left[uid]
        if uid in self.running:
            assert not self.do(self.bench.engine.end(self.running.pop(uid)))

    @invariant()
    def none_is_lost(self) -> None:
        assert set(self.do(self.bench.states())) == set(self.left)

    @invariant()
    def no_lane_is_overfull_and_none_is_shut(self) -> None:
        states = self.do(self.bench.states())
        for lane, seats in SEATS.items():
            if not lane:
                continue
            mine = [state for uid, state in states.items() if self.left[uid] == lane]
            working = sum(state in {"ready", "running", "later"} for state in mine)
            seated = working + mine.count("held")
            assert working <= seats
            assert not mine.count("blocked") or seated >= seats


Jobs.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestJobs = Jobs.TestCase
