"""Rows for a draft's database: copies of live rows without private values, and seed rows.

The code of a draft is not reviewed, so a private column gets a meaningless value of its type, and
so does every listed column. Rows that a row refers to are copied along.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from bbops.base.errors import BbopsError, MigrationRefused
from bbops.database.diff.live_tables import LiveTables
from bbops.database.migrate.listening import silently
from bbops.database.migrate.opened import read_tables, write_tables
from bbops.database.schema.conversions import Stored, encode, stamp, stored_datetime
from bbops.database.schema.place import Place
from bbops.language.resources.table import Column, Table

MOST_ROWS: Final = 100_000
_BLANK: Final[Mapping[str, Stored]] = {
    "integer": 0, "bigint": 0, "number": 0.0, "decimal": "0", "boolean": 0, "json": "null",
    "datetime": stored_datetime(datetime.fromtimestamp(0, UTC)), "date": "1970-01-01",
    "time": "00:00:00", "binary": b"",
}  # fmt: skip

Row = dict[str, Stored]


@dataclass(slots=True)
class _Copy:
    """The copied rows so far: the existing values of each column that rows refer to."""

    tables: Mapping[str, Table]
    masked: Collection[str]
    limit: int
    counts: dict[str, int] = field(default_factory=dict)
    known: dict[tuple[str, str], set[Stored]] = field(default_factory=dict)


def copy_rows(
    source: Place, target: Place, tables: Mapping[str, Table], names: Sequence[str],
    *, limit: int = 1_000, masked: Collection[str] = (),
) -> dict[str, int]:  # fmt: skip
    """Copy the newest rows of some tables, and the rows they refer to; return their numbers.

    Existing rows stay unchanged; a row is left out if a row that it refers to is missing.

    Args:
        source: the live database; it is only read.
        target: the draft's database.
        tables: the tables that the draft declares.
        names: the tables to copy; all if it is empty.
        limit: the most rows of a table, up to MOST_ROWS.
        masked: `table.column` of further columns to mask.

    Raises:
        BbopsError: a table does not exist, or a row breaks a rule of the draft.
    """
    _require(tables, names, masked)
    copy = _Copy(tables, masked, min(limit, MOST_ROWS))
    with read_tables(source) as live, write_tables(target) as draft:
        ordered = _ordered(tables, names or list(tables))

        def work() -> None:
            for name in ordered:
                rows = _read(live, name, tables[name], copy.limit, is_file=isinstance(source, Path))
                copy.counts[name] = sum(_put(draft.live, name, row, copy) for row in rows)
            draft.live.finish_rows(ordered)

        draft.transact(lambda: silently(draft.live, work))
    return copy.counts


def _require(tables: Mapping[str, Table], names: Sequence[str], masked: Collection[str]) -> None:
    for name in names:
        if name not in tables:
            raise BbopsError(f"the draft has no table '{name}'", hint=f"it has {', '.join(tables)}")
    for name in masked:
        table, _, column = name.partition(".")
        if table not in tables or column not in tables[table].columns:
            raise BbopsError(f"there is no column '{name}'", hint="such as users.email")


def _ordered(tables: Mapping[str, Table], names: Sequence[str]) -> list[str]:
    """Return these tables with all tables that they refer to, referenced tables first."""
    ordered: list[str] = []
    begun: set[str] = set()

    def add(name: str) -> None:
        if name in begun or name not in tables:
            return
        begun.add(name)
        for column in tables[name].columns.values():
            if column.references:
                add(column.references.partition(".")[0])
        ordered.append(name)

    for name in names:
        add(name)
    return ordered


def _read(live: LiveTables, name: str, table: Table, limit: int, *, is_file: bool) -> list[Row]:
    """Return the newest rows, with the columns that both databases have with the same type."""
    found = live.read().get(name)
    if found is None:
        return []
    columns = [
        key for key, column in table.columns.items()
        if key in found.columns and found.columns[key].kind in {column.type, ""}
    ]  # fmt: skip
    picked = [_select(key, table.columns[key], is_file=is_file) for key in columns]
    order = ", ".join(f'"{key}" DESC' for key in _newest(table, columns))
    query = f"SELECT {', '.join(picked)} FROM {live.name(name)}"
    rows = live.ask(f"{query}{f' ORDER BY {order}' if order else ''} LIMIT {limit}")
    return [dict(zip(columns, row, strict=True)) for row in reversed(rows)]


def _select(name: str, column: Column, *, is_file: bool) -> str:
    return f'"{name}"' if is_file or column.type != "json" else f'"{name}"::text'


def _newest(table: Table, columns: Sequence[str]) -> list[str]:
    """Return the columns that order the rows: the time of creation, else the key."""
    made = [key for key in columns if table.columns[key].auto == "created"]
    return made[:1] or [key for key in table.key if key in columns]


def _put(draft: LiveTables, name: str, row: Row, copy: _Copy) -> bool:
    table = copy.tables[name]
    if not table.key or any(key not in row for key in table.key):
        raise MigrationRefused(
            f"rows of '{name}' cannot be identified: the table has no primary key"
        )
    if any(not _is_there(draft, column, row.get(key), copy) for key, column in _references(table)):
        return False
    hidden = [key for key in table.columns if _is_hidden(name, key, copy)]
    full = row | {key: _mask(name, key, table, row) for key in hidden}
    typed = {key: (full[key], table.columns[key].type) for key in full}
    try:
        is_new = draft.insert_missing(name, typed, table.key)
    except MigrationRefused as error:
        raise MigrationRefused(f"a row of '{name}' does not fit: {error.message}") from None
    for (of, column), values in copy.known.items():
        if of == name:
            values.add(full.get(column))
    return is_new


def _references(table: Table) -> list[tuple[str, Column]]:
    return [(key, column) for key, column in table.columns.items() if column.references]


def _is_there(draft: LiveTables, column: Column, value: Stored, copy: _Copy) -> bool:
    """Return whether the draft has the row that a value refers to."""
    if value is None:
        return True
    parent, _, key = str(column.references).partition(".")
    if (parent, key) not in copy.known:
        rows = draft.ask(f'SELECT "{key}" FROM {draft.name(parent)}')
        copy.known[parent, key] = {row[0] for row in rows}
    return value in copy.known[parent, key]


def _is_hidden(table: str, column: str, copy: _Copy) -> bool:
    """Return whether a column is masked; keys and references only identify rows."""
    declared = copy.tables[table].columns[column]
    if column in copy.tables[table].key or declared.references:
        return False
    return declared.private or f"{table}.{column}" in copy.masked


def _mask(name: str, of: str, table: Table, row: Row) -> Stored:
    """Return a value that reveals nothing of the old one, unique if it must be."""
    column = table.columns[of]
    if column.nullable and not column.unique:
        return None
    if column.enum:
        first: Stored = column.enum[0]
        return first
    which = repr((name, of, [row[key] for key in table.key]))
    mark = hashlib.sha256(which.encode()).hexdigest()
    if column.type == "uuid":
        return str(uuid.UUID(mark[:32]))
    if column.type in {"string", "text"}:
        return f"masked-{mark}"[: column.max_length or 15].ljust(column.min_length or 0, "-")
    if column.unique and column.type in {"integer", "bigint"}:
        return int(mark[:7], 16)
    return column.minimum if column.minimum is not None else _BLANK[column.type]


# ---- Insert a table's missing seed rows into a database


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
