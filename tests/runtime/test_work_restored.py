"""The SQL of docs/postgresql.md holds jobs after `pg_restore` as `bbops db restore` does."""

from __future__ import annotations

import re
from collections.abc import Callable

import psycopg

from bbops.database.schema.place import Place, PostgresPlace
from bbops.runtime.realtime.rows import EPOCH
from bbops.runtime.work.control import WorkControl
from bbops.runtime.work.values import RESTORED, NewJob
from tests.conftest import ROOT
from tests.support.work_bench import Bench, Work, bench, job, place

__all__ = ["bench", "place"]

PAGE = (ROOT / "docs/postgresql.md").read_text()
SQL = "".join(re.findall(r"```sql\n(SET search_path .*?)```", PAGE, re.DOTALL))


def test_restored_jobs_are_held_until_they_are_released(
    bench: Callable[[Work], None], place: Place
) -> None:
    async def work(on: Bench) -> None:
        if not isinstance(place, PostgresPlace):
            return
        control = WorkControl(on.database, on.dialect, now=lambda: on.at)
        on.routes["paid"] = lambda event: [NewJob(f"paid@{event.id}", "paid", "{}")]
        await on.enqueue(job("a"), job("b", lane="x"), job("c", lane="x"))
        await on.claim(1)
        await on.database.write("INSERT INTO _bbops_notes (name, text) VALUES (?, '1')", (EPOCH,))
        await on.emit("paid")
        with psycopg.connect(place.address, autocommit=True) as connection:
            connection.execute(
                SQL.replace("search_path TO bbops", f"search_path TO {place.schema}")
            )
        assert set((await on.states()).values()) == {"held"}
        assert await on.pump() == 0
        assert EPOCH not in await on.notes()
        assert await control.release(reason=RESTORED) == 3
        assert await on.states() == {"a": "ready", "b": "ready", "c": "blocked"}

    bench(work)
