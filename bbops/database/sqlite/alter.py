"""Apply differences to a live SQLite file, inside the caller's transaction.

ALTER TABLE makes the simple changes; everything else rebuilds the table. Both need
`PRAGMA foreign_keys = OFF`, and a check of the references at the end.

Source: SQLite, "Making Other Kinds Of Table Schema Changes" (lang_altertable).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from bbops.base.errors import DatabaseError
from bbops.database.diff.row_mapping import Carry
from bbops.database.schema import shape
from bbops.database.schema.shape import Difference
from bbops.database.sqlite.ddl import create_index, create_indexes, create_table, write_column

_NEW: Final = "_bbops_rebuilt"
_BY_ALTER: Final = frozenset({
    "add table", "drop table", "add column", "add index", "drop index", "index name",
})  # fmt: skip
"""Differences without a rebuild."""


class SqliteAlteration:
    """The steps from the live tables to the declared ones."""

    def __init__(
        self,
        live: sqlite3.Connection,
        want: shape.Shape,
        differences: Collection[Difference],
        carried: Mapping[str, Carry],
    ) -> None:
        """Args: `carried` has the new form of each row, after all renames."""
        self._live, self._want, self._carried = live, want, carried
        self._differences = differences
        self._rebuilt = {d.table for d in differences if d.kind not in _BY_ALTER}

    def make(self, have: shape.Shape) -> None:
        """Apply the differences, tables first and indexes last."""
        with _lifted(self._live):
            self._remove(have)
            for difference in self._of("add table"):
                self._live.execute(create_table(difference.table, self._want[difference.table]))
            for difference in self._of("add column"):
                self._add_column(difference.table, difference.what)
            for table in sorted(self._rebuilt):
                with _named(f"rebuild table '{table}'"):
                    self._rebuild(table)
            self._add_indexes()

    def _of(self, *kinds: shape.Kind) -> list[Difference]:
        return [difference for difference in self._differences if difference.kind in kinds]

    def _remove(self, have: shape.Shape) -> None:
        for difference in self._of("drop table"):
            self._live.execute(f'DROP TABLE "{difference.table}"')
        for difference in self._of("drop index", "index name"):
            if difference.table not in self._rebuilt:
                self._drop_index(have, difference)

    def _drop_index(self, have: shape.Shape, difference: Difference) -> None:
        name = difference.what
        if difference.kind == "index name":
            name = shape.old_index(have[difference.table], self._want[difference.table], name)
        self._live.execute(f'DROP INDEX IF EXISTS "{name}"')  # it may go with its table

    def _add_column(self, table: str, name: str) -> None:
        if table in self._rebuilt:
            return
        column = self._want[table].columns[name]
        with _named(f"add column '{table}.{name}'"):
            words = write_column(name, column, self._default(table, name, column))
            self._live.execute(f'ALTER TABLE "{table}" ADD COLUMN {words}')

    def _default(self, table: str, name: str, column: shape.Column) -> str | None:
        """Return the default of a new column: a filler only if the table has rows."""
        if column.default is not None:
            return column.default
        there = self._live.execute(f'SELECT EXISTS (SELECT 1 FROM "{table}")').fetchone()[0]
        return self._carried[table].columns[name].filler if there else None

    def _add_indexes(self) -> None:
        for difference in self._of("add table"):
            self._index_all(difference.table)
        for difference in self._of("add index", "index name"):
            if difference.table not in self._rebuilt:
                index = self._want[difference.table].indexes[difference.what]
                self._live.execute(create_index(difference.table, difference.what, index))

    def _index_all(self, table: str) -> None:
        for statement in create_indexes(table, self._want[table]):
            self._live.execute(statement)

    def _rebuild(self, name: str) -> None:
        """Rebuild a table; it gets its name last, so that references to it do not follow."""
        live, carried = self._live, self._carried[name]
        columns = ", ".join(f'"{column}"' for column in carried.columns)
        last_key = _last_key(live, name)
        live.execute(create_table(_NEW, self._want[name]))
        select = carried.select(lambda table: f'main."{table}"')
        live.execute(f'INSERT INTO "{_NEW}" ({columns}) {select}')
        live.execute(f'DROP TABLE "{name}"')
        live.execute(f'ALTER TABLE "{_NEW}" RENAME TO "{name}"')
        self._index_all(name)
        if last_key is not None and any(
            described.counts for described in self._want[name].columns.values()
        ):
            live.execute("DELETE FROM sqlite_sequence WHERE name = ?", (name,))
            live.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (name, last_key))


def _last_key(live: sqlite3.Connection, table: str) -> int | None:
    """Return the highest key a table ever gave, which must not be given again."""
    if not live.execute("SELECT 1 FROM sqlite_master WHERE name = 'sqlite_sequence'").fetchone():
        return None
    row = live.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).fetchone()
    return row[0] if row else None


@contextmanager
def _lifted(live: sqlite3.Connection) -> Iterator[None]:
    """Remove views and triggers during the block: if one misses its table, renames fail.

    A trigger is gone for good with its table.
    """
    query = "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE type IN ('view', 'trigger')"
    found = live.execute(f"{query} ORDER BY type DESC, rowid").fetchall()
    for kind, name, _, _ in sorted(found):  # triggers first: a view takes its own along
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
