"""The age of the oldest snapshot that keeps old rows of the queue."""

from __future__ import annotations

from collections.abc import Callable

import psycopg

from bbops.database.schema.place import Place, PostgresPlace
from bbops.runtime.work.control import read_snapshot_age
from tests.support.work_bench import Bench, Work, bench, place

__all__ = ["bench", "place"]

AGE = (
    "SELECT extract(epoch FROM clock_timestamp() - xact_start)::float FROM pg_stat_activity"
    " WHERE pid = pg_backend_pid()"
)


def test_a_transaction_that_keeps_old_rows_counts_from_its_start(
    bench: Callable[[Work], None], place: Place
) -> None:
    async def work(on: Bench) -> None:
        if not isinstance(place, PostgresPlace):
            assert await read_snapshot_age(on.database, on.dialect) is None
            return
        with psycopg.connect(place.url) as held:
            held.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            (before,) = held.execute(AGE).fetchone() or (0.0,)
            age = await read_snapshot_age(on.database, on.dialect)
            assert age is not None
            assert age > before > 0

    bench(work)
