"""Find which live tables and columns go on under a new name, by `renamedFrom` alone."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Final

from bbops.database.connection import add_functions
from bbops.resources.table import Table

Types = Mapping[str, Mapping[str, str]]
"""Table → column → declared type when it was made, where that is on record."""


_COPIED: Final = (
    "SELECT m.sql FROM sqlite_master AS m"
    " JOIN pragma_table_list AS l ON l.schema = 'main' AND l.name = m.tbl_name"
    " WHERE m.type IN ('table', 'index') AND m.sql IS NOT NULL AND l.type = 'table'"
    " AND substr(m.tbl_name, 1, 1) != '_' AND m.name NOT LIKE 'sqlite_%' ORDER BY m.type DESC"
)


@dataclass(frozen=True, slots=True)
class Renames:
    """Old names by new ones; a column's key is its table's new name and its own new one."""

    tables: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def old_table(self, table: str) -> str:
        """Return the live table that holds the rows of a declared one."""
        return self.tables.get(table, table)

    def old_column(self, table: str, column: str) -> str:
        """Return the live column that holds the values of a declared one."""
        return self.columns.get((table, column), column)

    def statements(self) -> Iterator[str]:
        """Yield the statements that rename; references of other tables follow by themselves."""
        for new, old in self.tables.items():
            yield f'ALTER TABLE "{old}" RENAME TO "{new}"'
        for (table, new), old in self.columns.items():
            yield f'ALTER TABLE "{table}" RENAME COLUMN "{old}" TO "{new}"'


def find_renames(live: sqlite3.Connection, tables: Mapping[str, Table]) -> Renames:
    """Return the renames that are still to be made.

    An old name that is still declared, or a new one that is live already, is no rename: so the
    key may stay in the file once its work is done.
    """
    there = columns_of(live)
    renamed: dict[str, str] = {}
    for name, table in tables.items():
        old = table.renamed_from
        if old in there.keys() - tables.keys() - set(renamed.values()) and name not in there:
            renamed[name] = old
    columns: dict[tuple[str, str], str] = {}
    for name, table in tables.items():
        held = set(there.get(renamed.get(name, name), ()))
        columns |= {(name, new): old for new, old in _renamed_columns(table, held)}
    return Renames(renamed, columns)


def rename_types(types: Types, tables: Mapping[str, Table], renames: Renames) -> Types:
    """Return the recorded types of the declared columns, under their new names."""
    return {
        name: {
            key: old[renames.old_column(name, key)]
            for key in table.columns
            if renames.old_column(name, key) in old
        }
        for name, table in tables.items()
        if (old := types.get(renames.old_table(name)))
    }


def columns_of(live: sqlite3.Connection) -> dict[str, dict[str, str]]:
    """Return table → column → storage type of all live tables that are not our own."""
    found: dict[str, dict[str, str]] = {}
    query = (
        "SELECT m.name, c.name, c.type FROM sqlite_master AS m, pragma_table_info(m.name) AS c"
        " WHERE m.type = 'table' AND substr(m.name, 1, 1) != '_' AND m.name NOT LIKE 'sqlite_%'"
    )
    for table, column, storage in live.execute(query):
        found.setdefault(table, {})[column] = storage.upper()
    return found


@contextmanager
def renamed_schema(live: sqlite3.Connection, renames: Renames) -> Iterator[sqlite3.Connection]:
    """Yield an empty copy of the live tables in memory, with the renames made.

    Virtual tables, and those they keep for themselves, are not in it: nobody declares them, so
    they are left alone.
    """
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as copy:
        add_functions(copy)
        for (statement,) in live.execute(_COPIED).fetchall():
            copy.execute(statement)
        for statement in renames.statements():
            copy.execute(statement)
        yield copy


def _renamed_columns(table: Table, held: set[str]) -> Iterator[tuple[str, str]]:
    taken: set[str] = set()
    for name, column in table.columns.items():
        old = column.renamed_from
        if old in held - table.columns.keys() - taken and name not in held:
            taken.add(old)
            yield name, old
