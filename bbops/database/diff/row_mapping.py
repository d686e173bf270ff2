"""Write the SQL that turns each live row into a row of the declared tables.

The plan counts obstacles in these rows, and a changed column is filled with them: so both use the
same values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from bbops.database.diff.renames import Renames
from bbops.database.schema import shape
from bbops.database.schema.conversions import Stored, encode, guess_type, literal, stamp
from bbops.database.schema.ddl import Ddl
from bbops.language.resources.table import Column, Table

Convert = Callable[[str, str, str], str]
"""SQL of a value, its old type, its new one → SQL of the value in the new type, or null."""


@dataclass(frozen=True, slots=True)
class Carried:
    """A declared column in existing rows: the source and the form of its value."""

    origin: str
    """The live column; empty for a new column."""
    old_type: str
    new_type: str
    filler: str | None
    """SQL of the value for rows without one; None if there is no such value."""
    shown: str
    """The same value, as text for users."""
    nullable: bool
    value: str = "NULL"
    """The converted value, as an expression over the live row."""

    @property
    def sql(self) -> str:
        """The value, or its replacement, as an expression over the live row."""
        if not self.origin:
            return self.filler or self.value
        if self.nullable or self.filler is None:
            return self.value
        return f"coalesce({self.value}, {self.filler})"


@dataclass(frozen=True, slots=True)
class Carry:
    """The rows of a declared table, made from a live table; empty without a source."""

    table: str
    source: str
    columns: Mapping[str, Carried] = field(default_factory=dict)

    def select(self, live: Callable[[str], str]) -> str:
        """Return the query for the rows in their new form; `live` writes a live table's name."""
        values = ", ".join(f'{column.sql} AS "{name}"' for name, column in self.columns.items())
        return f"SELECT {values} " + (f"FROM {live(self.source)}" if self.source else "WHERE 1 = 0")


@dataclass(frozen=True, slots=True)
class Carrier:
    """The settings for carrying rows over.

    Attributes:
        ddl: the DDL writer of the database.
        convert: the conversions of the database.
        now: the value of a new `created` or `updated` column, in stored form.
    """

    ddl: Ddl
    convert: Convert
    now: str

    def carry_rows(
        self, live: shape.Shape, tables: Mapping[str, Table], renames: Renames
    ) -> dict[str, Carry]:
        """Return the sources of the rows of each declared table.

        Args:
            live: the live tables before `renames`, with the recorded types.
            tables: the declared tables.
            renames: the renames that are still to be made.
        """
        found: dict[str, Carry] = {}
        for name, table in tables.items():
            source = renames.old_table(name)
            held = live[source].columns if source in live else {}
            columns = {
                key: self._carried(column, renames.old_column(name, key), held)
                for key, column in table.columns.items()
            }
            found[name] = Carry(name, source if held else "", columns)
        return found

    def _carried(self, column: Column, origin: str, held: Mapping[str, shape.Column]) -> Carried:
        there = held.get(origin)
        stored = self._filler(column)
        filler = None if stored is None else self.ddl.literal(stored, column.type)
        fills = filler, literal(stored), column.nullable
        if there is None:
            missing = self.ddl.literal(None, column.type)
            return Carried("", column.type, column.type, *fills, missing)
        old = there.kind or guess_type(self.ddl.storage, there.type, column.type)
        value = self.convert(f'"{origin}"', old, column.type)
        return Carried(origin, old, column.type, *fills, value)

    def _filler(self, column: Column) -> Stored:
        if column.default is not None:
            return encode(column.type, column.default)
        if column.auto in {"created", "updated"} and not column.nullable:
            return stamp(column.type, self.now)
        return None
