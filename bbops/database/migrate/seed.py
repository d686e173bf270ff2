"""Insert a table's missing seed rows into a database."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from bbops.base.errors import MigrationRefused
from bbops.database.diff.live_tables import LiveTables
from bbops.database.schema.literals import Stored, encode, stamp
from bbops.language.resources.table import Column, Table


def seed(live: LiveTables, tables: Mapping[str, Table], now: str) -> dict[str, int]:
    """Insert the missing seed rows; return their number for each table with seed rows.

    A row exists if its primary key does or, without a given key, its value in a unique column or
    index; then it stays unchanged. The caller checks references at the end of its transaction,
    since rows may refer to later rows.

    Args:
        live: the tables, in a transaction.
        tables: the declared tables, in any order.
        now: the value of `created` and `updated` columns, in stored form.

    Raises:
        MigrationRefused: a row does not fit its table.
    """
    return {
        name: sum(
            _insert_if_missing(live, name, table, number, now)
            for number in range(1, len(table.seed) + 1)
        )
        for name, table in tables.items()
        if table.seed
    }


def _insert_if_missing(live: LiveTables, name: str, table: Table, number: int, now: str) -> bool:
    where = f"seed row {number} of table '{name}'"
    given = table.seed[number - 1]
    row, key = _encode_row(table, given, now, where), _key(table, given, where)
    typed = {column: (stored, table.columns[column].type) for column, stored in row.items()}
    try:
        return live.insert_missing(name, typed, key)
    except MigrationRefused as error:
        raise MigrationRefused(f"{where} does not fit: {error.message}") from None


def _encode_row(table: Table, given: Mapping[str, Any], now: str, where: str) -> dict[str, Stored]:
    unknown = sorted(given.keys() - table.columns.keys())
    if unknown:
        raise MigrationRefused(f"{where} has the unknown column '{unknown[0]}'")
    row: dict[str, Stored] = {}
    for name, column in table.columns.items():
        if name in given:
            row[name] = _encode(column, given[name], f"{where}, column '{name}'")
        elif column.auto == "uuid":
            row[name] = str(uuid.uuid4())
        elif column.auto in {"created", "updated"}:
            row[name] = stamp(column.type, now)
    return row


def _key(table: Table, given: Mapping[str, Any], where: str) -> tuple[str, ...]:
    """Return the columns that identify the row: the primary key first."""
    keys = [table.key, *((name,) for name, column in table.columns.items() if column.unique)]
    whole = (index for index in table.indexes.values() if index.where is None)
    keys += [tuple(index.columns) for index in whole if index.unique]
    for columns in filter(None, keys):
        if all(given.get(column) is not None for column in columns):
            return columns
    raise MigrationRefused(
        f"{where} has neither its primary key nor anything else that is unique",
        hint="one of them is needed to find out whether the row exists: give its columns",
    )


def _encode(column: Column, value: Any, where: str) -> Stored:
    try:
        return encode(column.type, value)
    except ValueError as error:
        raise MigrationRefused(f"{where}: {error}") from None
