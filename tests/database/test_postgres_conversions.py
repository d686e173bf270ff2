"""Conversions on PostgreSQL: what a change of types makes of the values of a column."""

from __future__ import annotations

from typing import Any

import psycopg

from bbops.database.postgres.conversions import PostgresConversions, make_conversions
from bbops.database.postgres.ddl import PostgresDdl
from bbops.database.schema.place import PostgresPlace


def test_equal_values_are_converted_once(schema: PostgresPlace) -> None:
    with psycopg.connect(schema.address) as live:
        live.execute("CREATE TABLE notes (size text)")
        live.execute("INSERT INTO notes SELECT n % 2 FROM generate_series(1, 1000) AS n")
        make_conversions(live, [("notes", "size", "string", "integer")])
        found = live.execute("SELECT was, becomes FROM pg_temp._bbops_converted ORDER BY was")
        assert found.fetchall() == [("0", "0"), ("1", "1")]


def test_values_of_a_text_column_are_found_by_the_index(schema: PostgresPlace) -> None:
    size = '"size"'
    with psycopg.connect(schema.address) as live:
        live.execute(f'CREATE TABLE notes ({size} text COLLATE "C")'.encode())
        live.execute("INSERT INTO notes SELECT n FROM generate_series(1, 5000) AS n")
        make_conversions(live, [("notes", "size", "string", "integer")])
        before = scans(live)
        made = PostgresConversions(PostgresDdl())
        misfits = made.misfit(size, "string", "integer")
        strictly = made.strictly(size, "string", "integer")
        query = f"SELECT count(*) FILTER (WHERE {misfits}), sum({strictly}) FROM notes"
        assert live.execute(query.encode()).fetchone() == (0, 5000 * 5001 // 2)
        assert scans(live) == (before[0], before[1] + 10_000), "and never by reading all of them"


def scans(live: psycopg.Connection[tuple[Any, ...]]) -> tuple[int, int]:
    """Return how often the conversions were read through, and how often by their index."""
    found = live.execute(
        "SELECT seq_scan, idx_scan FROM pg_stat_xact_user_tables WHERE relid ="
        " 'pg_temp._bbops_converted'::regclass"
    ).fetchone()
    assert found is not None
    return found[0], found[1]
