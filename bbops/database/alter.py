"""Make the planned changes on a live SQLite file, inside the caller's transaction.

ALTER TABLE makes what it can; everything else is a rebuild of the table. All of it needs
`PRAGMA foreign_keys = OFF`, and a check of the references at the end.

Source: SQLite, "Making Other Kinds Of Table Schema Changes" (lang_altertable).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Final

from bbops.database.carry import Carry
from bbops.database.renames import Renames, renamed_schema
from bbops.errors import DatabaseError

_NEW: Final = "_bbops_rebuilt"


def apply_renames(live: sqlite3.Connection, renames: Renames) -> None:
    """Make all renames; an index keeps its old name until its table is compared."""
    for statement in renames.statements():
        live.execute(statement)


def apply_differences(
    live: sqlite3.Connection,
    schema: ModuleType,
    described: Any,
    carried: Mapping[str, Carry],
    rebuilt: Collection[str],
) -> None:
    """Make the live tables, which have their declared names by now, the described ones.

    Args:
        live: in a transaction.
        schema: `bbops.database.schema`, which the caller has loaded.
        described: the declared tables, as `schema.metadata` returns them.
        carried: what each row becomes.
        rebuilt: the tables that ALTER TABLE cannot bring there.
    """
    with renamed_schema(live, Renames()) as copy:  # what the plan has seen, and no more
        found = schema.differences(copy, described)
    with _lifted(live):
        for difference in found:
            _remove(live, difference, rebuilt)
        for difference in found:
            _add(live, schema, described, difference, carried, rebuilt)
        for table in sorted(rebuilt):
            with _named(f"rebuild table '{table}'"):
                _rebuild(live, schema, described.tables[table], carried[table])
        for difference in found:
            if difference[0] == "add_index" and _is_left(difference[1], found, rebuilt):
                live.execute(schema.create_index(difference[1]))


def _remove(
    live: sqlite3.Connection, difference: tuple[Any, ...], rebuilt: Collection[str]
) -> None:
    if difference[0] == "remove_table":
        live.execute(f'DROP TABLE "{difference[1].name}"')
    elif difference[0] == "remove_index" and difference[1].table.name not in rebuilt:
        live.execute(f'DROP INDEX IF EXISTS "{difference[1].name}"')  # it may go with its table


def _add(
    live: sqlite3.Connection,
    schema: ModuleType,
    described: Any,
    difference: tuple[Any, ...],
    carried: Mapping[str, Carry],
    rebuilt: Collection[str],
) -> None:
    if difference[0] == "add_table":
        for statement in schema.create_table(described.tables[difference[1].name]):
            live.execute(statement)
    elif difference[0] == "add_column" and difference[2] not in rebuilt:
        table = str(difference[2])
        column = described.tables[table].c[difference[3].name]
        with _named(f"add column '{table}.{column.name}'"):
            filler = carried[table].columns[str(column.name)].filler
            live.execute(schema.add_column(column, _default(live, column, filler)))


def _default(live: sqlite3.Connection, column: Any, filler: str | None) -> str | None:
    """Return the default a column joins with: the time of its rows only where there are rows."""
    declared: str | None = column.info["default"]
    if declared is not None:
        return declared
    query = f'SELECT EXISTS (SELECT 1 FROM "{column.table.name}")'
    return filler if live.execute(query).fetchone()[0] else None


def _is_left(index: Any, found: Collection[tuple[Any, ...]], rebuilt: Collection[str]) -> bool:
    """Whether an index was not made together with its table."""
    new = {str(difference[1].name) for difference in found if difference[0] == "add_table"}
    return str(index.table.name) not in new | set(rebuilt)


def _rebuild(live: sqlite3.Connection, schema: ModuleType, table: Any, carried: Carry) -> None:
    """Write a table anew; it gets its name last, so that no reference of another follows it."""
    name = str(table.name)
    columns = ", ".join(f'"{column}"' for column in carried.columns)
    last_key = _last_key(live, name)
    live.execute(schema.create_bare_table(table, _NEW))
    live.execute(f'INSERT INTO "{_NEW}" ({columns}) {carried.select}')
    live.execute(f'DROP TABLE "{name}"')
    live.execute(f'ALTER TABLE "{_NEW}" RENAME TO "{name}"')
    for statement in schema.create_indexes(table):
        live.execute(statement)
    if last_key is not None and _counts_up(live, name):
        live.execute("DELETE FROM sqlite_sequence WHERE name = ?", (name,))
        live.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (name, last_key))


def _last_key(live: sqlite3.Connection, table: str) -> int | None:
    """Return the highest key a table ever gave, which must not be given again."""
    if not live.execute("SELECT 1 FROM sqlite_master WHERE name = 'sqlite_sequence'").fetchone():
        return None
    row = live.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).fetchone()
    return row[0] if row else None


def _counts_up(live: sqlite3.Connection, table: str) -> bool:
    query = "SELECT sql LIKE '%KEY AUTOINCREMENT%' FROM sqlite_master WHERE name = ?"
    return bool(live.execute(query, (table,)).fetchone()[0])


@contextmanager
def _lifted(live: sqlite3.Connection) -> Iterator[None]:
    """Take views and triggers away meanwhile: one that misses its table keeps others from a name.

    A trigger goes for good with its table.
    """
    query = "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE type IN ('view', 'trigger')"
    found = live.execute(f"{query} ORDER BY type DESC, rowid").fetchall()
    for kind, name, _, _ in sorted(found):  # triggers first: those of a view go with it
        live.execute(f'DROP {kind} "{name}"')
    yield
    for kind, _, owner, statement in found:
        owned = "SELECT 1 FROM sqlite_master WHERE name = ? AND type IN ('table', 'view')"
        if kind == "view" or live.execute(owned, (owner,)).fetchone():
            live.execute(statement)


@contextmanager
def _named(change: str) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise DatabaseError(f"cannot {change}: {error}") from error
