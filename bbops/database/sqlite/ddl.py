"""Tables in SQLite's ddl, and conversions by functions that its connections are given."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Final

from bbops.database.schema import shape
from bbops.database.schema.conversions import (
    Conversions,
    Stored,
    convert,
    convert_or_null,
    is_kept,
    literal,
    reads_as,
)
from bbops.database.schema.ddl import Ddl
from bbops.language.sql.sqlite import SQLITE_CHECK

_STORAGE: Final = {
    "integer": "INTEGER", "bigint": "INTEGER", "boolean": "INTEGER",
    "number": "REAL", "binary": "BLOB",
}  # fmt: skip


class SqliteDdl(Ddl):
    """STRICT tables; references may form circles."""

    dialect = SQLITE_CHECK

    def storage(self, column_type: str) -> str:
        return _STORAGE.get(column_type, "TEXT")

    def literal(self, stored: Stored, column_type: str) -> str:
        del column_type  # what is stored says it
        return literal(stored)

    def compared(self, column: str, column_type: str) -> str:
        # a cast and not our collation: other programs must be able to write to the file
        return f"CAST({column} AS NUMERIC)" if column_type == "decimal" else column

    def own_rules(self, column: str, column_type: str) -> Iterator[str]:
        if column_type == "boolean":
            yield f"{column} IN (0, 1)"


class SqliteConversions(Conversions):
    """Conversions by functions; see `add_conversions`."""

    def converted(self, value: str, old: str, new: str) -> str:
        if reads_as(old, new):
            return value
        return f"bbops_convert({value}, {literal(old)}, {literal(new)})"

    def strictly(self, value: str, old: str, new: str) -> str:
        if reads_as(old, new):
            return value
        return f"bbops_convert_strictly({value}, {literal(old)}, {literal(new)})"

    def kept(self, value: str, old: str, new: str) -> str:
        return f"bbops_is_kept({value}, {literal(old)}, {literal(new)})"


def add_conversions(connection: sqlite3.Connection) -> None:
    """Give a connection the functions that `SqliteConversions` speaks of."""
    connection.create_function("bbops_convert_strictly", 3, convert, deterministic=True)
    connection.create_function("bbops_convert", 3, convert_or_null, deterministic=True)
    connection.create_function("bbops_is_kept", 3, is_kept, deterministic=True)


def create_table(name: str, table: shape.Table) -> str:
    """Return the statement that makes a table without its indexes."""
    counting = [key for key, column in table.columns.items() if column.counts]
    lines = [write_column(key, column) for key, column in table.columns.items()]
    lines += [f"CONSTRAINT {rule.name} CHECK ({rule.sql})" for rule in sort_rules(table.rules)]
    if table.key and not counting:
        lines.append(f"PRIMARY KEY ({_listed(table.key)})")
    return f'CREATE TABLE "{name}" (\n  ' + ",\n  ".join(lines) + "\n) STRICT"


def write_column(name: str, column: shape.Column, default: str | None = None) -> str:
    """Return the definition of a column; `default` is what it has instead of its own."""
    default = column.default if default is None else default
    words = [f'"{name}" {column.type}']
    words += [f"DEFAULT {default}"] if default is not None else []
    words += [] if column.nullable else ["NOT NULL"]
    words += ["PRIMARY KEY AUTOINCREMENT"] if column.counts else []
    words += [f"CONSTRAINT {rule.name} CHECK ({rule.sql})" for rule in sort_rules(column.rules)]
    if column.reference:
        to = column.reference
        words.append(
            f'CONSTRAINT {to.name} REFERENCES "{to.table}" ("{to.column}") ON DELETE {to.on_delete}'
        )
    return " ".join(words)


def create_indexes(table: str, indexes: shape.Table) -> Iterator[str]:
    """Yield the statements that make the indexes of a table."""
    for name in sorted(indexes.indexes):
        yield create_index(table, name, indexes.indexes[name])


def create_index(table: str, name: str, index: shape.Index) -> str:
    """Return the statement that makes an index."""
    unique = "UNIQUE " if index.unique else ""
    only = f" WHERE ({index.where})" if index.where else ""
    return f'CREATE {unique}INDEX "{name}" ON "{table}" ({index.listed}){only}'


def sort_rules(rules: frozenset[shape.Rule]) -> list[shape.Rule]:
    """Return rules in the order they are written."""
    return sorted(rules, key=lambda rule: rule.name)


def _listed(columns: tuple[str, ...]) -> str:
    return ", ".join(f'"{column}"' for column in columns)
