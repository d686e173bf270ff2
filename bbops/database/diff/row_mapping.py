"""Say in SQL what each live row becomes under the declared tables.

The plan counts what stands in the way in these rows, and a changed column is filled with them: so
both speak of the same values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from bbops.database.diff.renames import Renames
from bbops.database.schema import shape
from bbops.database.schema.conversions import guess_type
from bbops.database.schema.ddl import Ddl
from bbops.database.schema.literals import Stored, encode, literal, stamp
from bbops.language.resources.table import Column, Table

Convert = Callable[[str, str, str], str]
"""SQL of a value, its old type, its new one → SQL of the value as the new one, or null."""


@dataclass(frozen=True, slots=True)
class Carried:
    """A declared column in rows that exist: where its value comes from, and as what."""

    origin: str
    """The live column; empty for one that joins."""
    old_type: str
    new_type: str
    filler: str | None
    """SQL of the value that stands in for a missing one; None where nothing may."""
    shown: str
    """The same, as people are told it."""
    nullable: bool
    value: str = "NULL"
    """The converted value, as an expression over the live row."""

    @property
    def sql(self) -> str:
        """The value, or what stands in for it, as an expression over the live row."""
        if not self.origin:
            return self.filler or self.value
        if self.nullable or self.filler is None:
            return self.value
        return f"coalesce({self.value}, {self.filler})"


@dataclass(frozen=True, slots=True)
class Carry:
    """The rows of a declared table, made from those of the live one; none without a source."""

    table: str
    source: str
    columns: Mapping[str, Carried] = field(default_factory=dict)

    def select(self, live: Callable[[str], str]) -> str:
        """Return the query for the rows as they will be; `live` writes a live table's name."""
        values = ", ".join(f'{one.sql} AS "{name}"' for name, one in self.columns.items())
        return f"SELECT {values} " + (f"FROM {live(self.source)}" if self.source else "WHERE 1 = 0")


@dataclass(frozen=True, slots=True)
class Carrier:
    """What carrying rows over depends on.

    Attributes:
        ddl: the database's.
        convert: as the database can do it.
        now: what a `created` or `updated` column that joins gets, as stored.
    """

    ddl: Ddl
    convert: Convert
    now: str

    def carry(
        self, live: shape.Shape, tables: Mapping[str, Table], renames: Renames
    ) -> dict[str, Carry]:
        """Return what the rows of each declared table are made from.

        Args:
            live: as it is now, before `renames`, with the types that are on record.
            tables: as declared.
            renames: those that are still to be made.
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
