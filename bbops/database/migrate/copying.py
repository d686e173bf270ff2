"""Copy rows of a live database into that of a draft, without what is private in them.

A draft is code that nobody has reviewed, so a private column gets a value of its type that says
nothing, and so does every other one that is named. What a row refers to comes along.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from bbops.base.errors import BbopsError, MigrationRefused
from bbops.database.diff.live_tables import LiveTables
from bbops.database.migrate.listening import silently
from bbops.database.migrate.opened import read_tables, write_tables
from bbops.database.schema.literals import Stored, stored_datetime
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
    """What is copied so far: of each column that rows refer to, the values that are there."""

    tables: Mapping[str, Table]
    masked: Collection[str]
    limit: int
    counts: dict[str, int] = field(default_factory=dict)
    known: dict[tuple[str, str], set[Stored]] = field(default_factory=dict)


def copy_rows(
    source: Place, target: Place, tables: Mapping[str, Table], names: Sequence[str],
    *, limit: int = 1_000, masked: Collection[str] = (),
) -> dict[str, int]:  # fmt: skip
    """Copy the newest rows of some tables, and what they refer to; return how many came.

    Rows that are there already stay as they are; one that refers to what did not come is left out.

    Args:
        source: the live database; it is only read.
        target: the draft's.
        tables: as the draft declares them.
        names: which to copy; all without any.
        limit: of rows a table, at most MOST_ROWS.
        masked: `table.column` of what to hide beside private columns.

    Raises:
        BbopsError: there is no such table, or a row breaks a rule of the draft.
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
    """Return these tables with all that they refer to, those first that others refer to."""
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
    """Return the newest rows, of the columns that both databases have with the same type."""
    found = live.read().get(name)
    if found is None:
        return []
    columns = [
        one for one, column in table.columns.items()
        if one in found.columns and found.columns[one].kind in {column.type, ""}
    ]  # fmt: skip
    picked = [_select(one, table.columns[one], is_file=is_file) for one in columns]
    order = ", ".join(f'"{one}" DESC' for one in _newest(table, columns))
    query = f"SELECT {', '.join(picked)} FROM {live.name(name)}"
    rows = live.ask(f"{query}{f' ORDER BY {order}' if order else ''} LIMIT {limit}")
    return [dict(zip(columns, row, strict=True)) for row in reversed(rows)]


def _select(name: str, column: Column, *, is_file: bool) -> str:
    return f'"{name}"' if is_file or column.type != "json" else f'"{name}"::text'


def _newest(table: Table, columns: Sequence[str]) -> list[str]:
    """Return what rows are ordered by: when they were made, else their key."""
    made = [one for one in columns if table.columns[one].auto == "created"]
    return made[:1] or [one for one in table.key if one in columns]


def _put(draft: LiveTables, name: str, row: Row, copy: _Copy) -> bool:
    table = copy.tables[name]
    if not table.key or any(one not in row for one in table.key):
        raise MigrationRefused(
            f"rows of '{name}' cannot be identified: the table has no primary key"
        )
    if any(not _is_there(draft, column, row.get(one), copy) for one, column in _references(table)):
        return False
    hidden = [one for one in table.columns if _is_hidden(name, one, copy)]
    full = row | {one: _mask(name, one, table, row) for one in hidden}
    typed = {one: (full[one], table.columns[one].type) for one in full}
    try:
        is_new = draft.insert_missing(name, typed, table.key)
    except MigrationRefused as error:
        raise MigrationRefused(f"a row of '{name}' does not fit: {error.message}") from None
    for (of, column), values in copy.known.items():
        if of == name:
            values.add(full.get(column))
    return is_new


def _references(table: Table) -> list[tuple[str, Column]]:
    return [(one, column) for one, column in table.columns.items() if column.references]


def _is_there(draft: LiveTables, column: Column, value: Stored, copy: _Copy) -> bool:
    """Return whether the draft has what a row refers to."""
    if value is None:
        return True
    parent, _, key = str(column.references).partition(".")
    if (parent, key) not in copy.known:
        rows = draft.ask(f'SELECT "{key}" FROM {draft.name(parent)}')
        copy.known[parent, key] = {row[0] for row in rows}
    return value in copy.known[parent, key]


def _is_hidden(table: str, column: str, copy: _Copy) -> bool:
    """Return whether a column is masked; a key or a reference says only which row it is."""
    declared = copy.tables[table].columns[column]
    if column in copy.tables[table].key or declared.references:
        return False
    return declared.private or f"{table}.{column}" in copy.masked


def _mask(name: str, of: str, table: Table, row: Row) -> Stored:
    """Return a value that says nothing of the old one; where it must be unique, it is."""
    column = table.columns[of]
    if column.nullable and not column.unique:
        return None
    if column.enum:
        first: Stored = column.enum[0]
        return first
    which = repr((name, of, [row[one] for one in table.key]))
    mark = hashlib.sha256(which.encode()).hexdigest()
    if column.type == "uuid":
        return str(uuid.UUID(mark[:32]))
    if column.type in {"string", "text"}:
        return f"masked-{mark}"[: column.max_length or 15].ljust(column.min_length or 0, "-")
    if column.unique and column.type in {"integer", "bigint"}:
        return int(mark[:7], 16)
    return column.minimum if column.minimum is not None else _BLANK[column.type]
