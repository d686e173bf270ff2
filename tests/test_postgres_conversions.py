"""Conversions on PostgreSQL: what a change of types makes of the values of a column."""

from __future__ import annotations

import psycopg

from bbops.database.place import PostgresPlace
from bbops.database.postgres.conversions import make_conversions


def test_equal_values_are_converted_once(schema: PostgresPlace) -> None:
    with psycopg.connect(schema.address) as live:
        live.execute("CREATE TABLE notes (size text)")
        live.execute("INSERT INTO notes SELECT n % 2 FROM generate_series(1, 1000) AS n")
        make_conversions(live, [("notes", "size", "string", "integer")])
        found = live.execute("SELECT was, becomes FROM pg_temp._bbops_converted ORDER BY was")
        assert found.fetchall() == [("0", "0"), ("1", "1")]
