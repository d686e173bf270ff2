"""The rows of a test, written to its database in any order of their tables."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bbops.base.errors import BbopsError
from bbops.base.host import Database, Host
from bbops.database.schema.conversions import Stored, encode, stamp, stored_datetime
from bbops.database.schema.place import fit_name
from bbops.database.sqlite.connection import connect
from bbops.database.sqlite.violations import failure_of
from bbops.language.resources.table import Column, Table
from bbops.language.sql.postgres import POSTGRES
from bbops.runtime.values.failures import DatabaseFailure, Failure, FlowError

Rows = Sequence[Mapping[str, Any]]


class WrongRow(BbopsError):
    """A row of a test does not fit; `table` and `number` (from 0) say which."""

    def __init__(self, message: str, table: str, number: int) -> None:
        super().__init__(message)
        self.table, self.number = table, number


def put_rows(path: Path, tables: Mapping[str, Table], rows: Mapping[str, Rows], host: Host) -> None:
    """Insert the rows in one transaction; what they leave out is filled in as by an insert.

    Raises:
        WrongRow: one breaks a rule of its table, or refers to a row that is not there.
    """
    with contextlib.closing(connect(path)) as live:
        live.execute("PRAGMA foreign_keys = OFF")  # rows may refer to rows that come later
        live.execute("BEGIN")
        for name, each in rows.items():
            for number, row in enumerate(each):
                _insert(live, name, tables[name], row, number, host)
        for table, at, parent, _ in live.execute("PRAGMA foreign_key_check"):
            message = f"a row of '{table}' refers to a row of '{parent}' that is not there"
            raise WrongRow(message, table, _number(live, table, at, len(rows.get(table, ()))))
        live.execute("COMMIT")


# ---- Put the rows of a test into its schema on PostgreSQL, in any order of their tables


def _insert(
    live: sqlite3.Connection, name: str, table: Table, row: Mapping[str, Any], number: int,
    host: Host,
) -> None:  # fmt: skip
    try:
        stored = dict(_encoded(table, row, host))
    except ValueError as error:
        raise WrongRow(f"row {number + 1} of '{name}': {error}", name, number) from None
    names = ", ".join(f'"{column}"' for column in stored)
    values = f"({names}) VALUES ({', '.join('?' * len(stored))})" if stored else "DEFAULT VALUES"
    sql = f'INSERT INTO "{name}" {values}'
    try:
        live.execute(sql, tuple(stored.values()))
    except sqlite3.IntegrityError as error:
        failure = failure_of(error, live, sql)
        message = failure.message if isinstance(failure, Failure) else "it violates a constraint"
        raise WrongRow(f"row {number + 1} of '{name}': {message}", name, number) from None


def _encoded(table: Table, row: Mapping[str, Any], host: Host) -> Iterator[tuple[str, Stored]]:
    for name, column in table.columns.items():
        if name in row:
            try:
                yield name, encode(column.type, row[name])
            except ValueError as error:
                raise ValueError(f"column '{name}': {error}") from None
        elif column.auto in {"uuid", "created", "updated"}:
            yield name, automatic(column, host)


def automatic(column: Column, host: Host) -> Stored:
    """Return what a column fills in by itself, as SQLite stores it."""
    if column.auto == "uuid":
        return host.random.uuid()
    return stamp(column.type, stored_datetime(host.clock.now()))


def _number(live: sqlite3.Connection, table: str, row_id: int | None, count: int) -> int:
    """Return which of the test's rows has this row id: they are the last that were inserted."""
    if row_id is None:
        return 0
    sql = f'SELECT count(*) FROM "{table}" WHERE rowid > ?'
    (behind,) = live.execute(sql, (row_id,)).fetchone()
    return max(count - 1 - int(behind), 0)


async def put_rows_by_door(
    door: Database, tables: Mapping[str, Table], rows: Mapping[str, Rows], host: Host
) -> None:
    """Insert the rows in one transaction; what they leave out is filled in as by an insert.

    Raises:
        WrongRow: one breaks a rule of its table, or refers to a row that is not there.
    """
    if not any(rows.values()):
        return
    references = [*_references(tables)]
    await door.write_all(
        [(_defer(*one, "DEFERRABLE INITIALLY DEFERRED"), ()) for one in references]
    )
    try:
        async with door.transaction() as transaction:
            for name, each in rows.items():
                for number, row in enumerate(each):
                    await _insert_postgres(transaction, name, tables[name], row, number, host)
    except DatabaseFailure as error:  # at the end, of a row that was put in before its parent
        raise _dangling(tables, rows) or error from None
    await door.write_all([(_defer(*one, "NOT DEFERRABLE"), ()) for one in references])


def _references(tables: Mapping[str, Table]) -> Iterator[tuple[str, str]]:
    for name, table in tables.items():
        yield from ((name, key) for key, column in table.columns.items() if column.references)


def _defer(table: str, column: str, when: str) -> str:
    name = fit_name(f"fk_{table}_{column}")
    return f'ALTER TABLE "{table}" ALTER CONSTRAINT "{name}" {when}'


async def _insert_postgres(
    door: Database, name: str, table: Table, row: Mapping[str, Any], number: int, host: Host
) -> None:
    try:
        values = dict(_encoded_postgres(table, row, host))
        await door.write(_text(name, table, values), tuple(values.values()))
    except Failure as error:
        raise WrongRow(f"row {number + 1} of '{name}': {error.message}", name, number) from None


def _text(name: str, table: Table, values: Mapping[str, Any]) -> str:
    names = ", ".join(f'"{column}"' for column in values)
    given = f"({names}) VALUES ({', '.join('?' * len(values))})" if values else "DEFAULT VALUES"
    moved = "".join(
        POSTGRES.moves_on(name, key)
        for key, column in table.columns.items() if column.auto == "increment" and key in values
    )  # fmt: skip
    return f'INSERT INTO "{name}" {given} RETURNING 1{moved}'


def _encoded_postgres(
    table: Table, row: Mapping[str, Any], host: Host
) -> Iterator[tuple[str, Any]]:
    for name, column in table.columns.items():
        if name in row:
            try:
                yield name, POSTGRES.encoders[column.type](row[name], "")
            except FlowError:
                message = f"column '{name}': expected a value of type {column.type}"
                raise FlowError(message) from None
        elif column.auto in {"uuid", "created", "updated"}:
            yield name, POSTGRES.encoders[column.type](automatic(column, host), "")


def _dangling(tables: Mapping[str, Table], rows: Mapping[str, Rows]) -> WrongRow | None:
    """Return the first row that refers to one that neither the test nor the table's seed has."""
    for name, key in _references(tables):
        to, _, column = str(tables[name].columns[key].references).partition(".")
        known = [row.get(column) for row in (*rows.get(to, ()), *tables[to].seed)]
        for number, row in enumerate(rows.get(name, ())):
            if row.get(key) is not None and row[key] not in known:
                message = f"a row of '{name}' refers to a row of '{to}' that is not there"
                return WrongRow(message, name, number)
    return None
