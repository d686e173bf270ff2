"""Which jobs triggers make of what has happened: `where`, lanes, priorities."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bbops.compiler.compile.release import build
from bbops.compiler.testing.host import fake_host
from bbops.database.migrate.migrate import apply
from bbops.database.sqlite.driver import Sqlite
from bbops.database.sqlite.work import SqliteWork
from bbops.runtime.linking.release import link
from bbops.runtime.linking.work import Work, link_work
from bbops.runtime.values.failures import Failure
from bbops.runtime.work.rows import row_event
from bbops.runtime.work.run_record import RunRecord
from bbops.runtime.work.sql_engine import SqlEngine
from bbops.runtime.work.values import HIGH, LOW, NORMAL, Claim, NewJob, ProjectEvent
from bbops.source.tree import MemoryTree

ORDERS = """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  customer: { type: string, maxLength: 400 }
  total: { type: decimal, nullable: true }
  paid: { type: boolean, default: false }
"""
LOG = "steps:\n  - insert: { table: orders, data: { customer: ran } }\n"
TOLD = "payload: { customer: string, total?: integer }\n" + LOG


def made(database: Any, **triggers: str) -> Work:
    files = {
        "project.yaml": "bbops: 1\nname: work\n", "tables/orders.yaml": ORDERS,
        "functions/log.yaml": LOG, "functions/told.yaml": TOLD,
    }  # fmt: skip
    files |= {f"triggers/{name}.yaml": text for name, text in triggers.items()}
    built = build(MemoryTree(files))
    errors = [str(one) for one in built.diagnostics if one.severity == "error"]
    assert built.project is not None, errors
    host = fake_host(database)
    work = link_work(built.artifact, link(built.artifact, name="a", host=host, env={}))
    assert work is not None
    return work


def event(payload: Any, name: str = "order.paid", number: int = 1) -> ProjectEvent:
    return ProjectEvent(number, name, json.dumps(payload), 0)


def changed(
    operation: str, new: Mapping[str, Any] | None, old: Mapping[str, Any] | None
) -> ProjectEvent:
    rows = {"newRow": new and [new], "oldRow": old and [old]}
    return event({k: v for k, v in rows.items() if v}, row_event("orders", operation))  # type: ignore[arg-type]


def jobs(work: Work, received: ProjectEvent) -> list[NewJob]:
    return list(work.plan.route(received))


def test_a_trigger_hears_of_each_of_its_events() -> None:
    work = made(None, paid="event: [order.paid, order.gone]\nfunction: told\n")
    names = [event({"customer": "a"}, name) for name in ("order.paid", "order.gone", "order.new")]
    assert [len(jobs(work, one)) for one in names] == [1, 1, 0]


def test_where_decides_by_the_payload_as_its_function_declares_it() -> None:
    where = "event.payload.total != null and event.payload.total > 10"
    trigger = f"event: order.paid\nwhere: {where}\nfunction: told\n"
    work = made(None, paid=trigger)
    totals = [{"customer": "a", "total": total} for total in (9, 11)] + [{"customer": "a"}]
    assert [len(jobs(work, event(one))) for one in totals] == [0, 1, 0]


@pytest.mark.parametrize(("operation", "new", "old", "is_wanted"), [
    ("insert", {"paid": 1, "total": "2.50"}, None, True),
    ("insert", {"paid": 1, "total": None}, None, False),
    ("insert", {"paid": 0, "total": "2.50"}, None, False),
    ("update", {"paid": 1, "total": "2.50"}, {"paid": 0, "total": "2.50"}, True),
    ("update", {"paid": 1, "total": "2.50"}, {"paid": 1, "total": "2.50"}, False),
    ("delete", None, {"paid": 1, "total": "3"}, False),
])  # fmt: skip
def test_where_decides_by_rows_and_bare_columns(
    operation: str, new: Any, old: Any, *, is_wanted: bool
) -> None:
    trigger = (
        "database:\n  table: orders\n  operation: [insert, update]\n"
        "  where: paid and total != null and not (oldRow != null and oldRow.paid)\n"
        "function: log\n"
    )
    assert bool(jobs(made(None, paid=trigger), changed(operation, new, old))) is is_wanted


def test_a_bare_column_of_a_deleted_row_is_the_old_one() -> None:
    trigger = "database: { table: orders, operation: delete, where: paid }\nfunction: log\n"
    work = made(None, gone=trigger)
    assert [len(jobs(work, changed("delete", None, {"paid": one}))) for one in (1, 0)] == [1, 0]


def test_jobs_of_one_key_share_a_lane_of_their_trigger() -> None:
    lane = "lane: { key: event.payload.customer, limit: 3 }\npriority: high\n"
    work = made(
        None, paid=f"event: order.paid\n{lane}function: told\n",
        also="event: order.paid\npriority: low\nfunction: told\n",
    )  # fmt: skip
    also, paid = jobs(work, event({"customer": "ann"}))
    assert (paid.lane, paid.seats, paid.priority) == ("triggers/paid/ann", 3, HIGH)
    assert (also.lane, also.seats, also.priority) == ("", 1, LOW)
    long = jobs(work, event({"customer": "x" * 400}))[1].lane
    assert len(long) == len("triggers/paid/") + 64


def test_a_key_may_be_of_a_row() -> None:
    trigger = (
        "database: { table: orders, operation: update }\nlane: { key: newRow.id }\nfunction: log\n"
    )
    (job,) = jobs(made(None, paid=trigger), changed("update", {"id": 7}, {"id": 7}))
    assert (job.lane, job.seats, job.priority) == ("triggers/paid/7", 1, NORMAL)


def test_a_condition_that_fails_makes_a_job_that_fails_and_takes_no_other_along(
    tmp_path: Path,
) -> None:
    async def main() -> None:
        database = await Sqlite.open(tmp_path / "data.sqlite")
        where = "where: 10 / (event.payload.total | default(1)) > 2"
        work = made(
            database, other="event: order.paid\nfunction: told\n",
            paid=f"event: order.paid\n{where}\nfunction: told\n",
        )  # fmt: skip
        bad, good = (event({"customer": "a", "total": total}) for total in (0, 4))
        assert [one.work for one in jobs(work, bad)] == ["triggers/other", "triggers/paid"]
        assert len(jobs(work, good)) == 2
        assert len(jobs(work, event({"customer": "a", "total": 9}))) == 1
        assert len(jobs(work, event("no map"))) == 2
        engine = SqlEngine(database, SqliteWork(), "a")
        job = jobs(work, bad)[1]
        claim = Claim(1, job.uid, job.work, job.payload, 1, 1, job.lane, "", 0, job.cause)
        with pytest.raises(Failure, match="zero"):
            await work.plan.run(RunRecord(engine, claim, {}))
        skipped = replace(
            claim, payload=jobs(work, event({"customer": "a", "total": 9}))[0].payload
        )
        await work.plan.run(RunRecord(engine, skipped, {}))
        assert await database.read("SELECT count(*) FROM orders") == [(0,)]
        await database.close()

    apply_orders(tmp_path)
    asyncio.run(main())


def apply_orders(folder: Path) -> None:
    built = build(MemoryTree({
        "project.yaml": "bbops: 1\nname: work\n", "tables/orders.yaml": ORDERS,
    }))  # fmt: skip
    assert built.project is not None
    tables = {name: one.model for name, one in built.project.tables.items()}
    apply(folder / "data.sqlite", tables)
