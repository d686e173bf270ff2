"""Put a table's seed rows into a database that misses them."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Mapping
from typing import Any

from bbops.database.values import Stored, encode, stamp
from bbops.database.violations import failure_of
from bbops.errors import MigrationRefused
from bbops.resources.table import Column, Table
from bbops.runtime.failures import Failure


def seed(connection: sqlite3.Connection, tables: Mapping[str, Table], now: str) -> int:
    """Insert the seed rows whose primary key is missing, and return how many those were.

    A row that is there stays as it is. The caller's transaction has foreign keys off, since rows
    may refer to rows that come later, and checks them at its end.

    Args:
        connection: in a transaction.
        tables: as declared, in any order.
        now: what `created` and `updated` columns get, as stored.

    Raises:
        MigrationRefused: a row does not fit in its table.
    """
    return sum(
        _insert_if_missing(connection, name, table, number, now)
        for name, table in tables.items()
        for number in range(1, len(table.seed) + 1)
    )


def _insert_if_missing(
    connection: sqlite3.Connection, name: str, table: Table, number: int, now: str
) -> int:
    where = f"seed row {number} of table '{name}'"
    row = _encode_row(table, table.seed[number - 1], now, where)
    names = ", ".join(f'"{column}"' for column in row)
    key = ", ".join(f'"{column}"' for column in table.key)
    marks = ", ".join("?" for _ in row)
    sql = f'INSERT INTO "{name}" ({names}) VALUES ({marks}) ON CONFLICT ({key}) DO NOTHING'
    try:
        return connection.execute(sql, tuple(row.values())).rowcount
    except sqlite3.IntegrityError as error:
        failure = failure_of(error, connection, sql)
        message = failure.message if isinstance(failure, Failure) else "it breaks a rule"
        raise MigrationRefused(f"{where} does not fit: {message}") from None


def _encode_row(table: Table, given: Mapping[str, Any], now: str, where: str) -> dict[str, Stored]:
    missing = [column for column in table.key if given.get(column) is None]
    if missing or not table.key:
        raise MigrationRefused(
            f"{where} has no primary key",
            hint="name every column of it: by it we know whether the row is there already",
        )
    row: dict[str, Stored] = {}
    for name, column in table.columns.items():
        if name in given:
            row[name] = _encode(column, given[name], f"{where}, column '{name}'")
        elif column.auto == "uuid":
            row[name] = str(uuid.uuid4())
        elif column.auto in {"created", "updated"}:
            row[name] = stamp(column.type, now)
    unknown = sorted(given.keys() - table.columns.keys())
    if unknown:
        raise MigrationRefused(f"{where} has the unknown column '{unknown[0]}'")
    return row


def _encode(column: Column, value: Any, where: str) -> Stored:
    try:
        return encode(column.type, value)
    except ValueError as error:
        raise MigrationRefused(f"{where}: {error}") from None
