"""The engine on PostgreSQL, and the lock that shows that a worker is alive."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from bbops.database.postgres.connection import connect
from bbops.database.postgres.text import NAMES_CAUSE
from bbops.database.schema.own import Types, work_tables
from bbops.database.schema.place import PostgresPlace

WORK_TABLES: Final = (
    *work_tables(
        Types(
            "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY", "bigint", "text", "bytea", "boolean",
            queue=" WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01,"
            " autovacuum_vacuum_cost_delay = 0)",
        )
    ),
)  # fmt: skip

PUMP: Final = 7_316_101
"""The advisory lock of the process that moves a project's events; one for each schema."""
_LANES: Final = 7_316_102
OWNER_LOCK: Final = "hashtextextended(current_schema() || '/' || {}, 7316103)"
"""The lock key of a living worker, with `{}` for its name."""
_LIST: Final = "json_array_elements_text(CAST(CAST(? AS text) AS json))"
_HERE: Final = "hashtextextended(current_schema(), {})"


def _rows(**columns: str) -> str:
    told = ", ".join(f"{name} {of}" for name, of in columns.items())
    return f"jsonb_to_recordset(CAST(CAST(? AS text) AS jsonb)) AS j({told})"


class PostgresWork:
    """PostgreSQL: claims skip locked jobs, pumps and lanes wait for one another."""

    batch_size = 500
    new_jobs = _rows(
        ord="bigint", uid="text", work="text", payload="text", lane="text", seats="bigint",
        priority="bigint", run_at="bigint", debounced="boolean", cause="text", depth="bigint",
        seq="bigint", at="bigint",
    )  # fmt: skip
    new_events = _rows(
        ord="bigint", name="text", key="text", payload="text", at="bigint", cause="text",
        depth="bigint",
    )  # fmt: skip
    new_ticks = _rows(
        task="text", at="bigint", next_at="bigint", uid="text", overlap="text", ord="bigint",
        schedule="text", run_at="bigint",
    )  # fmt: skip
    new_keys = _rows(key="text", until="bigint")
    new_wakes = _rows(event="text", value="text")
    new_ends = _rows(job="bigint", fenced="bigint", outcome="text", value="text")
    new_records = (
        "unnest(CAST(? AS bigint[]), CAST(? AS bigint[]), CAST(? AS text[]), CAST(? AS bytea[]))"
        " AS j(job, fenced, path, result)"
    )
    ids = (
        "SELECT CAST(value AS bigint) FROM json_array_elements_text(CAST(CAST(? AS text) AS json))"
    )
    texts = "SELECT value FROM json_array_elements_text(CAST(CAST(? AS text) AS json))"
    in_query = "= ANY (ARRAY({}))"
    skip_locked = "FOR UPDATE SKIP LOCKED"
    share_lock = "FOR SHARE"
    jobs_lock = "FOR UPDATE OF _bbops_jobs"
    pump_lock = f"SELECT pg_advisory_xact_lock({_HERE.format(PUMP)})"
    lanes_lock = (
        "SELECT pg_advisory_xact_lock"
        f"(hashtextextended(current_schema() || '/' || value, {_LANES})) FROM {_LIST}"
    )
    dead_owners = (
        f"owner <> ? AND (lease < ? OR pg_try_advisory_xact_lock({OWNER_LOCK.format('owner')}))"
    )
    snapshot_age_query = (
        "SELECT CAST(coalesce(max(extract(epoch FROM clock_timestamp() - started)), 0)"
        " AS double precision) FROM (SELECT xact_start AS started FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        " AND backend_type <> 'autovacuum worker'"
        " AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL)"
        " UNION ALL SELECT prepared FROM pg_prepared_xacts"
        " WHERE database = current_database()) AS transactions"
    )
    set_cause = NAMES_CAUSE
    clear_cause = ""


@asynccontextmanager
async def alive(place: PostgresPlace, owner: str) -> AsyncIterator[asyncio.Event]:
    """Hold the lock of a worker: others notice its end, even a kill, at their next look.

    Yields an event that is set when the connection is lost: others take the worker's jobs then, and
    the worker must stop.
    """
    connection, lost = await connect(place), asyncio.Event()
    connection.add_termination_listener(lambda _: lost.set())
    try:
        await connection.fetch(f"SELECT pg_advisory_lock({OWNER_LOCK.format('$1::text')})", owner)
        yield lost
    finally:
        await connection.close()
