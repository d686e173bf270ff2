"""The phases of tests/database/test_phases.py, on PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic
from typing import Any

import psycopg
import pytest

from bbops.database.migrate import migrate, rollout
from bbops.database.schema.place import PostgresPlace
from bbops.language.resources.table import Column, Table
from tests.support.changing import SPEC, VALUES, changed
from tests.support.changing_postgres import CONNECTIONS, place
from tests.support.migrating import declare
from tests.support.table_changes import CASES

__all__ = ["place"]

Tables = Mapping[str, Table]


EACH_RUN = {"a nullable column", "a table and a column of it are renamed", "a rule", "unique"}
"""The others are left to the run that takes its time."""


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[] if n in EACH_RUN else [pytest.mark.long]) for n in CASES]
)
def test_every_release_works_while_it_serves(place: PostgresPlace, name: str) -> None:
    wanted = changed(CASES[name])
    planned = rollout.plan(place, wanted)
    rollout.expand(place, wanted, {planned.migration.hash})
    use(place, declare(SPEC))
    if planned.phases.switches:
        rollout.switch(place, "a release", until=monotonic() + 60)
    else:
        use(place, declare(SPEC))
    use(place, wanted)
    rollout.settle(place, "a release")
    rollout.narrow(place)
    use(place, wanted)
    assert rollout.plan(place, wanted).is_done
    kept = {one.table: one.column for one in rollout.find_hidden(place)}
    again = {**wanted, **{n: t for n, t in declare(SPEC).items() if kept.get(n) == ""}}
    assert not [c for c in migrate.plan(place, again).changes if c.table not in kept]


def use(place: PostgresPlace, tables: Tables) -> None:
    """Insert, read, change and delete a row of every table as a release of these tables does."""
    connection = CONNECTIONS[place.address]
    for name, table in tables.items():
        with connection.transaction(force_rollback=True):
            keys = {key: value(connection, column) for key, column in table.columns.items()}
            listed, marks = ", ".join(f'"{key}"' for key in keys), ", ".join("%s" for _ in keys)
            where = " AND ".join(f'"{key}" = %s' for key in table.key)
            these = [keys[key] for key in table.key]
            same = ", ".join(f'"{key}" = "{key}"' for key in keys)
            for statement, given in (
                (f'INSERT INTO "{name}" ({listed}) VALUES ({marks})', [*keys.values()]),
                (f'SELECT {listed} FROM "{name}" WHERE {where}', these),
                (f'UPDATE "{name}" SET {same} WHERE {where}', these),
                (f'DELETE FROM "{name}" WHERE {where}', these),
            ):
                assert connection.execute(statement.encode(), given).rowcount == 1


def value(connection: psycopg.Connection[Any], column: Column) -> Any:
    """Return a value that no row has, but that fits in its column."""
    if column.references:
        table, _, key = column.references.partition(".")
        row = connection.execute(f'SELECT max("{key}") FROM "{table}"'.encode()).fetchone()
        return row and row[0]
    found = column.enum[0] if column.enum else VALUES[column.type]
    if column.type == "boolean":
        return bool(found)
    return int(found) if column.type == "integer" else found
