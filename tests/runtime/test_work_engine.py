"""The engine keeps what engines promise, on both databases; the suite finds one that does not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbops.database.migrate import migrate
from bbops.database.sqlite.driver import Sqlite
from bbops.database.sqlite.work import SqliteWork
from bbops.runtime.work.results import pack, unpack
from bbops.runtime.work.sql_engine import SqlEngine
from bbops.runtime.work.values import Cause, Claim
from tests.support.engine_suite import CASES
from tests.support.work_bench import Bench, Work, bench, place

__all__ = ["bench", "place"]


@pytest.mark.parametrize("case", CASES)
def test_engine(bench: Callable[[Work], None], case: str) -> None:
    bench(CASES[case])


# ---- engines with a mistake each, and the case that finds it
class EndsWhatIsNotItsOwn(SqlEngine):
    async def end(self, job: Claim, *_: Any, **__: Any) -> bool:
        await self.database.change("DELETE FROM _bbops_jobs WHERE id = ?", (job.id,))
        return True


class KeepsLanesShut(SqlEngine):
    async def end(self, job: Claim, *given: Any, **more: Any) -> bool:
        return await super().end(replace(job, lane=""), *given, **more)


class KnowsNoLanes(SqlEngine):
    async def pump(self, route: Any, arrange: Any = None) -> int:
        return await super().pump(route, lambda job: replace(job, lane=""))


class RecordsApart(SqlEngine):
    async def change(self, job: Claim, path: str, effects: Sequence[Any], **more: Any) -> Any:
        rows = await self.database.write_all(effects)
        await self.checkpoint(job, path, rows)
        return rows


class ForgetsRecords(SqlEngine):
    async def steps(self, job: Claim) -> dict[str, Any]:
        del job
        return {}


class ForgetsCauses(SqlEngine):
    async def claim(self, limit: int, *, bulk: int = 0) -> list[Claim]:
        found = await super().claim(limit, bulk=bulk)
        return [replace(one, cause=Cause()) for one in found]


class TakesTheOldest(SqlEngine):
    async def claim(self, limit: int, *, bulk: int = 0) -> list[Claim]:
        del bulk
        return await self._claim(self._sql.claim_oldest, limit)


class WakesTooEarly(SqlEngine):
    async def wake_due(self) -> int | None:
        await self.database.change("UPDATE _bbops_jobs SET state = 'ready' WHERE state = 'later'")
        return None


class CountsSleep(SqlEngine):
    async def sleep(self, job: Claim, until: int) -> bool:
        return await self.fail(job, "", until)


class OpensTheLaneOfAHeldJob(SqlEngine):
    async def hold(self, job: Claim, reason: str) -> bool:
        return await self.fail(job, reason, None)


class FollowsTheClockBack(SqlEngine):
    async def tick(self, due: Any) -> int:
        sql = "UPDATE _bbops_ticks SET next_at = min(next_at, ?)"
        await self.database.change(sql, (self.now(),))
        return await super().tick(due)


class MovesEventsTwice(SqlEngine):
    async def pump(self, route: Any, arrange: Any = lambda job: job) -> int:
        rows = await self.database.read("SELECT name, key, payload, at FROM _bbops_outbox")
        moved = await super().pump(route, arrange)
        sql = "INSERT INTO _bbops_outbox (name, key, payload, at, cause, depth)"
        for row in rows[:1]:
            await self.database.write(f"{sql} VALUES (?, ?, ?, ?, '', 0)", row)
        return moved


class MissesWhatComesMeanwhile(SqlEngine):
    async def wait(self, job: Claim, waits: Sequence[Any], **_: Any) -> bool:
        return await self.sleep(job, waits[0].until)


class HoldsNothing(SqlEngine):
    @property
    def hold_reason(self) -> str:
        return ""

    @hold_reason.setter
    def hold_reason(self, reason: str) -> None:
        del reason


FAULTS = {
    EndsWhatIsNotItsOwn: "who_has_lost_a_job_writes_nothing_any_more",
    KeepsLanesShut: "jobs_of_a_lane_run_one_by_one_in_the_order_of_commits",
    KnowsNoLanes: "jobs_of_a_lane_run_one_by_one_in_the_order_of_commits",
    RecordsApart: "who_has_lost_a_job_writes_nothing_any_more",
    ForgetsRecords: "an_effect_and_the_record_of_its_step_are_one",
    ForgetsCauses: "causes_and_depths_go_along",
    TakesTheOldest: "each_eighth_claim_takes_the_oldest_others_what_is_more_urgent",
    WakesTooEarly: "a_job_that_sleeps_has_not_failed",
    CountsSleep: "a_job_that_sleeps_has_not_failed",
    OpensTheLaneOfAHeldJob: "a_job_that_is_held_keeps_its_seat_until_it_is_released",
    FollowsTheClockBack: "a_tick_runs_once_whatever_two_servers_and_a_clock_do",
    MovesEventsTwice: "an_event_makes_each_of_its_jobs_once",
    MissesWhatComesMeanwhile: "an_event_that_comes_as_a_job_goes_to_sleep_wakes_it",
    HoldsNothing: "where_jobs_are_held_none_begins_but_runs_of_tasks",
}


@pytest.mark.parametrize("engine", FAULTS)
def test_the_suite_finds_an_engine_that(engine: type[SqlEngine], tmp_path: Path) -> None:
    migrate.apply(tmp_path / "data.sqlite", {})

    async def main() -> None:
        database = await Sqlite.open(tmp_path / "data.sqlite")
        try:
            with pytest.raises((AssertionError, ValueError, KeyError, pytest.fail.Exception)):
                await CASES[FAULTS[engine]](Bench(database, SqliteWork(), engine))
        finally:
            await database.close()

    asyncio.run(main())


# ---- what is recorded
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
