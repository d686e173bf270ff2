"""The live tables of a PostgreSQL schema, for migrations."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from math import inf
from time import monotonic
from typing import Any, Final

import psycopg

from bbops.base.errors import MigrationRefused
from bbops.database.diff.adopt import Rest
from bbops.database.diff.live_tables import LiveTables
from bbops.database.diff.renames import Renames, with_renames
from bbops.database.diff.row_mapping import Carry
from bbops.database.postgres.alter import PostgresAlteration, references
from bbops.database.postgres.conversions import PostgresConversions, make_conversions
from bbops.database.postgres.ddl import PostgresDdl, make_own_tables, note_where
from bbops.database.postgres.publications import NEWEST as PUBLICATIONS
from bbops.database.postgres.reading import read_rest, read_shape
from bbops.database.postgres.row_triggers import QUIET, find_refused_triggers, make_row_triggers
from bbops.database.schema import shape
from bbops.database.schema.conversions import Conversions, Stored, stored_datetime
from bbops.database.schema.own import NEWEST
from bbops.database.schema.row_events import ByTable
from bbops.database.schema.shape import Difference

_COUNT_ON: Final = (
    "SELECT setval(pg_get_serial_sequence(%s, %s), m.most) FROM (SELECT max({column}) AS most"
    " FROM {table}) AS m WHERE m.most > coalesce(pg_sequence_last_value("
    "pg_get_serial_sequence(%s, %s)::regclass), 0)"
)


class PostgresTables(LiveTables):
    """The live tables of one connection, whose search path is the schema."""

    ddl = PostgresDdl()
    newest = (NEWEST, PUBLICATIONS)

    def __init__(self, live: psycopg.Connection[Any], schema: str) -> None:
        self._live, self._schema, self._until = live, schema, inf

    def ask(self, query: str) -> list[tuple[Stored, ...]]:
        rows = self._live.execute(query.encode()).fetchall()
        return [tuple(map(_stored, row)) for row in rows]

    def name(self, table: str) -> str:
        return f'"{self._schema}"."{table}"'

    def limit(self, until: float) -> None:
        self._until = until
        left = max(1, round(1000 * (until - monotonic())))
        self._live.execute(f"SET statement_timeout = {left}".encode())

    def read(self) -> shape.Shape:
        return read_shape(self._live)

    def now(self) -> str:
        return stored_datetime(self._live.execute("SELECT now()").fetchone()[0])  # type: ignore[index]

    def run(self, statement: str, values: tuple[str, ...]) -> list[tuple[Stored, ...]]:
        found = self._live.execute(statement.replace("?", "%s").encode(), values)
        return found.fetchall() if found.description else []

    def has_own(self, table: str) -> bool:
        row = self._live.execute("SELECT to_regclass(%s) IS NOT NULL", (table,)).fetchone()
        return bool(row and row[0])

    def make_own_tables(self) -> None:
        make_own_tables(self._live)

    def silence(self) -> None:
        self._live.execute(QUIET)

    def report_changes(self, wanted: ByTable) -> None:
        make_row_triggers(self._live, self._schema, wanted, self.read())

    def find_refused_triggers(self, wanted: ByTable) -> Mapping[str, str]:
        return find_refused_triggers(self._live, self._schema, wanted)

    def convert(self, columns: Collection[tuple[str, str, str, str]]) -> Conversions:
        if columns:
            make_conversions(self._live, columns, self._until)
        return PostgresConversions(self.ddl)

    def lock(self, tables: Collection[str]) -> None:
        for table in sorted(tables):
            self._live.execute(f'LOCK TABLE "{table}" IN ACCESS EXCLUSIVE MODE'.encode())

    def make_renames(self, renames: Renames) -> None:
        before = with_renames(self.read(), renames)
        for statement in renames.statements():
            self._live.execute(statement.encode())
        for renamed in before.values() if renames.columns else ():
            for name, index in renamed.indexes.items():
                if index.where:
                    self._live.execute(note_where(name, index).encode())
        for table, column, to in references(self.read()):
            name = self.ddl.fit(f"fk_{table}_{column}")
            if to.name.startswith("fk_") and to.name != name:
                change = f'ALTER TABLE "{table}" RENAME CONSTRAINT "{to.name}" TO "{name}"'
                self._live.execute(change.encode())

    def alter(
        self,
        want: shape.Shape,
        differences: Collection[Difference],
        carried: Mapping[str, Carry],
    ) -> None:
        PostgresAlteration(self._live, want, differences, carried).make(self.read())

    def insert_missing(
        self, table: str, row: Mapping[str, tuple[Stored, str]], key: Collection[str]
    ) -> bool:
        values = (self.ddl.literal(stored, of) for stored, of in row.values())
        sql = self.write_insert(table, row, values, key)
        self._live.execute("SET CONSTRAINTS ALL DEFERRED")
        try:
            return self._live.execute(sql.encode()).rowcount > 0
        except psycopg.IntegrityError as error:
            raise MigrationRefused(_broken(error)) from None
        except psycopg.DataError:
            raise MigrationRefused("a value does not fit in its column") from None

    def finish_rows(self, tables: Collection[str]) -> None:
        try:
            self._live.execute("SET CONSTRAINTS ALL IMMEDIATE")
        except psycopg.IntegrityError as error:
            parent = _parent(error)
            message = f"rows of '{error.diag.table_name}' refer to rows that {parent} does not have"
            raise MigrationRefused(
                message, hint="check 'seed' and 'default' of these tables"
            ) from None
        live = self.read()
        for table in tables:
            for column, described in live[table].columns.items():
                if described.counts:
                    self._count_on(table, column)

    def rest(self) -> Rest:
        return read_rest(self._live)

    def _count_on(self, table: str, column: str) -> None:
        sql = _COUNT_ON.format(table=f'"{table}"', column=f'"{column}"')
        self._live.execute(sql.encode(), (f'"{table}"', column) * 2)


def _stored(value: Any) -> Stored:
    """Return a value of psycopg in SQLite's stored form."""
    match value:
        case bool():
            return int(value)
        case None | str() | int() | float() | bytes():
            return value
        case datetime():
            return stored_datetime(value)
        case date() | time():
            return value.isoformat()
        case Decimal():
            return format(value, "f")
        case _:
            return str(value)


def _broken(error: psycopg.IntegrityError) -> str:
    """Return the rule that a row breaks, without its values."""
    column = error.diag.column_name
    if isinstance(error, psycopg.errors.NotNullViolation):
        return f"'{column}' may not be null"
    if isinstance(error, psycopg.errors.UniqueViolation):
        return f"another row has what '{error.diag.constraint_name}' wants to be unique"
    return f"it breaks the rule '{error.diag.constraint_name}'"


def _parent(error: psycopg.IntegrityError) -> str:
    told = error.diag.message_detail or ""
    return f"'{told.rpartition('table ')[2].strip('.').strip(chr(34))}'" if told else "their table"
