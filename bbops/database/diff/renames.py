"""Find renamed live tables and columns, by `renamedFrom` alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from bbops.database.schema import shape
from bbops.language.resources.table import Table

Types = Mapping[str, Mapping[str, str]]
"""Table → column → declared type at its creation, if it is recorded."""
_NAME_OR_TEXT: Final = re.compile(r"""'(?:[^']|'')*'|"([^"]+)["]""")


@dataclass(frozen=True, slots=True)
class Renames:
    """Old names by new ones; a column's key has the new names of table and column."""

    tables: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def old_table(self, table: str) -> str:
        """Return the live table with the rows of a declared one."""
        return self.tables.get(table, table)

    def old_column(self, table: str, column: str) -> str:
        """Return the live column with the values of a declared one."""
        return self.columns.get((table, column), column)

    def statements(self) -> Iterator[str]:
        """Yield the statements that rename; references of other tables follow automatically."""
        for new, old in self.tables.items():
            yield f'ALTER TABLE "{old}" RENAME TO "{new}"'
        for (table, new), old in self.columns.items():
            yield f'ALTER TABLE "{table}" RENAME COLUMN "{old}" TO "{new}"'


class HasColumns(Protocol):
    """A table, live or declared."""

    @property
    def columns(self) -> Mapping[str, object]:
        """The columns by name."""
        ...


def find_renames(live: Mapping[str, HasColumns], tables: Mapping[str, Table]) -> Renames:
    """Return the renames that are still to be made.

    If the old name is still declared, or the new one is live already, there is no rename: so the
    key may stay in the file after the rename.
    """
    renamed: dict[str, str] = {}
    for name, table in tables.items():
        old = table.renamed_from
        if old in live.keys() - tables.keys() - set(renamed.values()) and name not in live:
            renamed[name] = old
    columns: dict[tuple[str, str], str] = {}
    for name, table in tables.items():
        there = live.get(renamed.get(name, name))
        held = set(there.columns) if there else set()
        columns |= {(name, new): old for new, old in _renamed_columns(table, held)}
    return Renames(renamed, columns)


def with_renames(live: shape.Shape, renames: Renames) -> shape.Shape:
    """Return the live tables after their renames; our own names in them stay."""
    new_tables = {old: new for new, old in renames.tables.items()}
    new_columns = {(table, old): new for (table, new), old in renames.columns.items()}

    def column_in(table: str, name: str) -> str:
        return new_columns.get((table, name), name)

    def column(found: shape.Column) -> shape.Column:
        points = found.reference
        if points is None:
            return found
        table = new_tables.get(points.table, points.table)
        points = replace(points, table=table, column=column_in(table, points.column))
        return replace(found, reference=points)

    def table(name: str, found: shape.Table) -> shape.Table:
        return replace(
            found,
            columns={
                column_in(name, key): column(found_column)
                for key, found_column in found.columns.items()
            },
            key=tuple(column_in(name, key) for key in found.key),
            indexes={
                key: replace(
                    index,
                    columns=tuple(column_in(name, of) for of in index.columns),
                    where=_renamed(index.where, lambda of: column_in(name, of)),
                )
                for key, index in found.indexes.items()
            },
        )

    named = {new_tables.get(name, name): found for name, found in live.items()}
    return {name: table(name, found) for name, found in named.items()}


def _renamed(sql: str, name_of: Callable[[str], str]) -> str:
    """Return our SQL with other names of columns; a text in it stays unchanged."""
    return _NAME_OR_TEXT.sub(lambda one: f'"{name_of(one[1])}"' if one[1] else one[0], sql)


def with_kinds(live: shape.Shape, types: Types) -> shape.Shape:
    """Return the live tables with the recorded declared types."""
    return {
        name: replace(
            table,
            columns={
                key: replace(column, kind=types.get(name, {}).get(key, ""))
                for key, column in table.columns.items()
            },
        )
        for name, table in live.items()
    }


def _renamed_columns(table: Table, held: set[str]) -> Iterator[tuple[str, str]]:
    taken: set[str] = set()
    for name, column in table.columns.items():
        old = column.renamed_from
        if old in held - table.columns.keys() - taken and name not in held:
            taken.add(old)
            yield name, old
