"""Say in SQL what each live row becomes under the declared tables.

The plan counts what stands in the way in these rows, and a rebuild fills the new table with them:
so both speak of the same values.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass

from bbops.database.conversions import converted, guess_type
from bbops.database.renames import Renames, Types, columns_of
from bbops.database.values import encode, literal, stamp
from bbops.resources.table import Column, Table


@dataclass(frozen=True, slots=True)
class Carried:
    """A declared column in rows that exist: where its value comes from, and as what."""

    origin: str
    """The live column; empty for one that joins."""
    old_type: str
    new_type: str
    filler: str | None
    """SQL of the value that stands in for a missing one; None where nothing may."""
    nullable: bool

    @property
    def sql(self) -> str:
        """The value, as an expression over the live row."""
        if not self.origin:
            return self.filler or "NULL"
        value = converted(f'"{self.origin}"', self.old_type, self.new_type)
        if self.nullable or self.filler is None:
            return value
        return f"coalesce({value}, {self.filler})"


@dataclass(frozen=True, slots=True)
class Carry:
    """The rows of a declared table, made from those of the live one; none without a source."""

    table: str
    source: str
    columns: Mapping[str, Carried]

    @property
    def select(self) -> str:
        """The query for the rows as they will be."""
        values = ", ".join(f'{one.sql} AS "{name}"' for name, one in self.columns.items())
        return f"SELECT {values} " + (f'FROM main."{self.source}"' if self.source else "WHERE 0")


def carry(
    live: sqlite3.Connection,
    tables: Mapping[str, Table],
    renames: Renames,
    types: Types,
    now: str,
) -> dict[str, Carry]:
    """Return what the rows of each declared table are made from.

    Args:
        live: as it is now, before `renames`.
        tables: as declared.
        renames: those that are still to be made.
        types: under the new names.
        now: what a `created` or `updated` column that joins gets, as stored.
    """
    there = columns_of(live)
    found: dict[str, Carry] = {}
    for name, table in tables.items():
        source = renames.old_table(name)
        held = there.get(source, {})
        columns: dict[str, Carried] = {}
        for key, column in table.columns.items():
            origin = renames.old_column(name, key)
            recorded = types.get(name, {}).get(key)
            columns[key] = _carried(column, origin, held.get(origin), recorded, now)
        found[name] = Carry(name, source if held else "", columns)
    return found


def _carried(
    column: Column, origin: str, storage: str | None, recorded: str | None, now: str
) -> Carried:
    old_type = recorded or (guess_type(storage, column.type) if storage else column.type)
    return Carried(
        origin="" if storage is None else origin,
        old_type=old_type,
        new_type=column.type,
        filler=_filler(column, now),
        nullable=column.nullable,
    )


def _filler(column: Column, now: str) -> str | None:
    if column.default is not None:
        return literal(encode(column.type, column.default))
    if column.auto in {"created", "updated"} and not column.nullable:
        return literal(stamp(column.type, now))
    return None
