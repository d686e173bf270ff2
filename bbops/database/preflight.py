"""Count the rows that stand in the way of a change, in the rows as they will be."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bbops.database.carry import Carry
from bbops.database.values import literal
from bbops.resources.table import Table

_NAMED = 3
"""Of how many rows the keys are told."""


@dataclass(frozen=True, slots=True)
class Rows:
    """How many rows were found, and the keys of the first few, as text."""

    count: int = 0
    keys: str = ""

    def __bool__(self) -> bool:
        return self.count > 0


class Preflight:
    """Questions to the live rows; each reads its table once, at most."""

    def __init__(
        self,
        live: sqlite3.Connection,
        tables: Mapping[str, Table],
        carried: Mapping[str, Carry],
    ) -> None:
        self._live = live
        self._tables = tables
        self.carried = carried
        views = (f'"{name}" AS NOT MATERIALIZED ({one.select})' for name, one in carried.items())
        self._rows_as_they_will_be = "WITH " + ", ".join(views) if carried else ""

    def find(self, table: str, condition: str = "1") -> Rows:
        """Return the rows of a declared table that meet a condition, as they will be."""
        if not self.carried[table].source:
            return Rows()
        query = f'{self._rows_as_they_will_be} SELECT {{}} FROM "{table}" WHERE {condition}'
        return self._read(query, self._tables[table].key)

    def find_live(self, table: str, condition: str) -> Rows:
        """Return the rows that meet a condition on the live columns, told by their live keys."""
        source = self.carried[table].source
        if not source:
            return Rows()
        query = f'SELECT {{}} FROM main."{source}" WHERE {condition}'
        return self._read(query, self._live_key(source))

    def count_live(self, table: str, condition: str = "1") -> int:
        """Count rows of a live table, by its live name."""
        query = f'SELECT count(*) FROM main."{table}" WHERE {condition}'
        return int(self._live.execute(query).fetchone()[0])

    def find_dangling(self, table: str, column: str, reference: str) -> Rows:
        """Return the rows whose reference will lead to no row."""
        parent, key = reference.split(".")
        present = f'SELECT "{key}" FROM "{parent}" WHERE "{key}" IS NOT NULL'
        return self.find(table, f'"{column}" IS NOT NULL AND "{column}" NOT IN ({present})')

    def find_repeated(self, table: str, columns: Sequence[str]) -> Rows:
        """Return the rows that share their values of `columns`; null is unlike every null."""
        listed = ", ".join(f'"{column}"' for column in columns)
        filled = " AND ".join(f'"{column}" IS NOT NULL' for column in columns)
        groups = f'SELECT {listed} FROM "{table}" WHERE {filled} GROUP BY {listed}'
        return self.find(table, f"({listed}) IN ({groups} HAVING count(*) > 1)")

    def _read(self, query: str, key: Sequence[str]) -> Rows:
        count = int(self._live.execute(query.format("count(*)")).fetchone()[0])
        if not count or not key:
            return Rows(count)
        named = ", ".join(f'"{column}"' for column in key)
        first = self._live.execute(f"{query.format(named)} LIMIT {_NAMED}").fetchall()
        return Rows(count, _write_keys(key, first, count))

    def _live_key(self, table: str) -> tuple[str, ...]:
        query = "SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk"
        return tuple(row[0] for row in self._live.execute(query, (table,)))


def _write_keys(
    key: Sequence[str], first: Sequence[tuple[str | int | float | bytes | None, ...]], count: int
) -> str:
    values = [", ".join(map(literal, row)) for row in first]
    if len(key) > 1:
        values = [f"({value})" for value in values]
    return f"{', '.join(key)} {', '.join(values)}{' …' if count > len(first) else ''}"
