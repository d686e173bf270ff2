"""Count the rows that a change would break, in the form that they will have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bbops.database.diff.row_mapping import Carry
from bbops.database.schema import shape
from bbops.database.schema.conversions import Stored, literal
from bbops.language.resources.table import Table

_NAMED = 3
"""The number of rows whose keys are listed."""

Ask = Callable[[str], list[tuple[Stored, ...]]]
"""A query → its rows, with values in stored form."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The number of found rows, and the keys of the first few, as text."""

    count: int = 0
    keys: str = ""

    def __bool__(self) -> bool:
        return self.count > 0


class Preflight:
    """Questions to the live rows; each reads its table at most once."""

    def __init__(
        self,
        ask: Ask,
        live: shape.Shape,
        name_live: Callable[[str], str],
        tables: Mapping[str, Table],
        carried: Mapping[str, Carry],
    ) -> None:
        """Args: `name_live` writes a live table's name beside a declared one of the same name."""
        self._ask, self._live, self._name_live = ask, live, name_live
        self._tables = tables
        self.carried = carried
        views = (
            f'"{name}" AS NOT MATERIALIZED ({carry.select(name_live)})'
            for name, carry in carried.items()
        )
        self._rows_as_they_will_be = "WITH " + ", ".join(views) if carried else ""

    def find(self, table: str, condition: str = "1 = 1") -> Rows:
        """Return the rows of a declared table that meet a condition, in their new form."""
        if not self.carried[table].source:
            return Rows()
        query = f'FROM "{table}" WHERE {condition}'
        return self._read(self._rows_as_they_will_be, query, self._tables[table].key)

    def find_live(self, table: str, condition: str) -> Rows:
        """Return the rows that meet a condition on live columns, by their live keys."""
        source = self.carried[table].source
        if not source:
            return Rows()
        query = f"FROM {self._name_live(source)} WHERE {condition}"
        return self._read("", query, self._live[source].key)

    def count_live(self, table: str) -> int:
        """Count rows of a live table, by its live name."""
        return _number(self._ask(f"SELECT count(*) FROM {self._name_live(table)}"))

    def find_dangling(self, table: str, column: str, reference: shape.Reference) -> Rows:
        """Return the rows with a dangling reference."""
        key = f'"{reference.column}"'
        present = f'SELECT {key} FROM "{reference.table}" WHERE {key} IS NOT NULL'
        return self.find(table, f'"{column}" IS NOT NULL AND "{column}" NOT IN ({present})')

    def find_repeated(
        self, table: str, columns: Sequence[str], where: str = "", keys: Sequence[str] = ()
    ) -> Rows:
        """Return the rows that share their values of `columns`; nulls are never equal.

        Args:
            where: the condition of the rows, as SQL; empty for all.
            keys: the SQL that distinguishes the values of each column.
        """
        listed = ", ".join(keys or (f'"{column}"' for column in columns))
        filled = " AND ".join(f'"{column}" IS NOT NULL' for column in columns)
        among = f"({where}) AND " if where else ""
        groups = f'SELECT {listed} FROM "{table}" WHERE {among}{filled} GROUP BY {listed}'
        return self.find(table, f"{among}({listed}) IN ({groups} HAVING count(*) > 1)")

    def _read(self, views: str, query: str, key: Sequence[str]) -> Rows:
        count = _number(self._ask(f"{views} SELECT count(*) {query}"))
        if not count or not key:
            return Rows(count)
        named = ", ".join(f'"{column}"' for column in key)
        first = self._ask(f"{views} SELECT {named} {query} ORDER BY {named} LIMIT {_NAMED}")
        return Rows(count, _write_keys(key, first, count))


def _number(rows: list[tuple[Stored, ...]]) -> int:
    return int(rows[0][0] or 0)


def _write_keys(key: Sequence[str], first: Sequence[tuple[Stored, ...]], count: int) -> str:
    values = [", ".join(map(literal, row)) for row in first]
    if len(key) > 1:
        values = [f"({value})" for value in values]
    return f"{', '.join(key)} {', '.join(values)}{' …' if count > len(first) else ''}"
