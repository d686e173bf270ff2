"""What a job writes meets the rules of tables, too: its record and its rows come or go together."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bbops.compiler.testing.host import fake_host
from bbops.runtime.data.rules import write_allowed
from bbops.runtime.values.failures import FlowError, Thrown
from bbops.runtime.work.durable import durable_host
from bbops.runtime.work.run_record import RunRecord
from tests.support.work_bench import Bench, Work, bench, job, place

__all__ = ["bench", "place"]

WRITE = "INSERT INTO _bbops_notes (name, text) VALUES (?, ?), (?, ?) RETURNING name, ? = '1'"


async def write(on: Bench, answer: str, at_most: int | None = None) -> list[str]:
    """Write two rows as a job does, and return what it gets back."""
    claim = (await on.claim())["a"]
    recorded = RunRecord(on.engine, claim, await on.engine.steps(claim))
    host = durable_host(fake_host(on.database), recorded)
    recorded.begin()
    recorded.enter("0")
    given = ("one", "", "two", "", answer)
    return [row[0] for row in await write_allowed(host.database, WRITE, given, at_most)]


def test_rows_that_may_be_written_are_recorded(bench: Callable[[Work], None]) -> None:
    async def work(on: Bench) -> None:
        await on.enqueue(job("a"))
        assert await write(on, "1") == ["one", "two"]
        assert {"one", "two"} <= {*await on.notes()}

    bench(work)


def test_a_row_that_may_not_takes_all_back(bench: Callable[[Work], None]) -> None:
    async def work(on: Bench) -> None:
        await on.enqueue(job("a"))
        with pytest.raises(Thrown) as caught:
            await write(on, "0")
        assert (caught.value.status, caught.value.code) == (403, "forbidden")
        assert not {"one", "two"} & {*await on.notes()}

    bench(work)


def test_more_rows_than_one_are_refused(bench: Callable[[Work], None]) -> None:
    async def work(on: Bench) -> None:
        await on.enqueue(job("a"))
        with pytest.raises(FlowError, match="at most 1 row"):
            await write(on, "1", at_most=1)
        assert not {"one", "two"} & {*await on.notes()}

    bench(work)
