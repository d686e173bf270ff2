"""The tables and rows of tests/support/changing.py in a schema of PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from bbops.database.migrate import migrate
from bbops.database.schema.place import PostgresPlace
from tests.support.changing import KEY, SPEC
from tests.support.migrating import declare

ROWS = [
    "INSERT INTO teams VALUES (1, 'red'), (2, 'blue')",
    *(
        f"INSERT INTO people VALUES ({n}, '{n}@x', {age}, 'a', {nick}, '{n}0', 'w{n}', false, 0.1,"
        f" {n}, '{n}.50', '2026-01-0{n}', '2026-01-0{n}T1{n}:00:00Z', '0{n}:30:00', '{KEY}{n}',"
        f" '{{\"n\":{n}}}', '\\x0{n}', 1, 2, NULL)"
        for n, age, nick in ((1, 30, "'same'"), (2, 40, "'same'"), (3, "NULL", "NULL"))
    ),
    "INSERT INTO members VALUES (1, 1, '2026-01-01'), (1, 2, NULL), (2, 1, NULL)",
    "SELECT setval(pg_get_serial_sequence('people', 'id'), 3)",
    "SELECT setval(pg_get_serial_sequence('teams', 'id'), 2)",
]
CONNECTIONS: dict[str, psycopg.Connection[Any]] = {}


@pytest.fixture
def place(schema: PostgresPlace) -> Iterator[PostgresPlace]:
    migrate.apply(schema, declare(SPEC))
    query(schema, *ROWS)
    yield schema
    CONNECTIONS.pop(schema.address).close()


def query(place: PostgresPlace, *statements: str) -> list[Any]:
    """Return the rows of the last one."""
    connection = CONNECTIONS.get(place.address)
    if connection is None:
        connection = psycopg.connect(place.address, autocommit=True)
        CONNECTIONS[place.address] = connection
    for statement in statements:
        found = connection.execute(statement.encode())
    return found.fetchall() if found.description else []
