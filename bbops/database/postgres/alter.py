"""Make differences go away in a live PostgreSQL schema, inside the caller's transaction.

References go first and come back last: so types, keys and tables may change in any order. A rule
of a table that is there holds for what is written from then on; `bbops.database.postgres.validate`
looks at the other rows, after the transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

import psycopg

from bbops.base.errors import DatabaseError, MigrationRefused
from bbops.base.render import plural
from bbops.database.diff.row_mapping import Carry
from bbops.database.postgres.ddl import (
    create_index,
    create_table,
    listed,
    note_where,
    write_column,
    write_reference,
    write_rule,
    write_type,
)
from bbops.database.postgres.reading import read_key_name, read_shape
from bbops.database.postgres.validate import drop_filled
from bbops.database.schema import shape
from bbops.database.schema.shape import Difference


class Alteration:
    """The way from the live tables to the declared ones."""

    def __init__(
        self,
        live: psycopg.Connection[Any],
        want: shape.Shape,
        differences: Collection[Difference],
        carried: Mapping[str, Carry],
    ) -> None:
        """Args: `carried` says what each row becomes, after all renames."""
        self._live, self._want, self._carried = live, want, carried
        self._differences = differences
        self._added = {one.table for one in self._of("add table")}

    def make(self, have: shape.Shape) -> None:
        """Make it."""
        self._unlink(have)
        self._remove_rules(have)
        self._remove(have)
        for one in self._of("add table"):
            self._run(f"create table '{one.table}'", create_table(one.table, self._table(one)))
        for one in self._of("add column"):
            self._add_column(one.table, one.what)
        for one in self._of("type"):
            self._change_type(one.table, one.what)
        for one in self._of("null", "default", "counts"):
            self._change_column(one)
        for table in {one.table for one in self._of("null")}:
            self._live.execute(drop_filled(table).encode())
        for one in self._of("key"):
            self._change_key(one.table)
        self._restore(read_shape(self._live))

    def _of(self, *kinds: shape.Kind) -> list[Difference]:
        return [one for one in self._differences if one.kind in kinds]

    def _table(self, one: Difference) -> shape.Table:
        return self._want[one.table]

    def _column(self, one: Difference) -> shape.Column:
        return self._want[one.table].columns[one.what]

    def _unlink(self, have: shape.Shape) -> None:
        """Remove the references that change, and those from or to what changes."""
        changed = {
            (one.table, one.what)
            for one in self._of("drop column", "type", "reference", "drop index")
        }
        tables = {one.table for one in self._of("drop table", "key", "drop index")}
        for table, column, to in references(have):
            ends = {(table, column), (to.table, to.column)}
            if ends & changed or tables & {table, to.table}:
                self._alter(table, f'DROP CONSTRAINT "{to.name}"')

    def _remove_rules(self, have: shape.Shape) -> None:
        for one in self._of("rules", "type"):
            for rule in have[one.table].columns[one.what].rules:
                self._alter(one.table, f'DROP CONSTRAINT IF EXISTS "{rule.name}"')
        for one in self._of("table rules"):
            for rule in have[one.table].rules - self._table(one).rules:
                self._alter(one.table, f'DROP CONSTRAINT "{rule.name}"')

    def _remove(self, have: shape.Shape) -> None:
        for one in self._of("index name"):
            old = shape.old_index(have[one.table], self._table(one), one.what)
            self._live.execute(f'ALTER INDEX "{old}" RENAME TO "{one.what}"'.encode())
        for one in self._of("drop index"):
            self._live.execute(f'DROP INDEX "{one.what}"'.encode())
        for one in self._of("drop table"):
            self._run(f"drop table '{one.table}'", f'DROP TABLE "{one.table}"')
        for one in self._of("drop column"):
            self._alter(one.table, f'DROP COLUMN "{one.what}"')

    def _add_column(self, table: str, name: str) -> None:
        column = self._want[table].columns[name]
        filler = None if column.default_sql else self._carried[table].columns[name].filler
        written = write_column(name, replace(column, rules=frozenset()), filler)
        self._alter(table, f"ADD COLUMN {written}")
        if filler is not None:
            self._alter(table, f'ALTER COLUMN "{name}" DROP DEFAULT')

    def _change_type(self, table: str, name: str) -> None:
        column, carried = self._want[table].columns[name], self._carried[table].columns[name]
        self._alter(table, f'ALTER COLUMN "{name}" DROP DEFAULT')
        to = f"{write_type(column.type)} USING {carried.value}"
        self._alter(table, f'ALTER COLUMN "{name}" TYPE {to}')
        if column.counts:
            self._count(Difference("counts", table, name))  # an adopted one counted by a default
        elif column.default_sql is not None:
            self._alter(table, f'ALTER COLUMN "{name}" SET DEFAULT {column.default_sql}')

    def _change_column(self, one: Difference) -> None:
        column, name = self._column(one), f'"{one.what}"'
        if one.kind == "default":
            to = f"SET DEFAULT {column.default_sql}" if column.default_sql else "DROP DEFAULT"
            self._alter(one.table, f"ALTER COLUMN {name} {to}")
        elif one.kind == "counts":
            self._count(one)
        elif column.nullable:
            self._alter(one.table, f"ALTER COLUMN {name} DROP NOT NULL")
        else:
            filler = self._carried[one.table].columns[one.what].filler
            if filler is not None:
                fill = f'UPDATE "{one.table}" SET {name} = {filler} WHERE {name} IS NULL'
                self._live.execute(fill.encode())
            self._forbid_null(one.table, one.what)

    def _forbid_null(self, table: str, column: str) -> None:
        try:
            with self._live.transaction():
                self._alter(table, f'ALTER COLUMN "{column}" SET NOT NULL')
        except psycopg.errors.NotNullViolation:
            nulls = f'SELECT count(*) FROM "{table}" WHERE "{column}" IS NULL'
            row = self._live.execute(nulls.encode()).fetchone()
            count = plural(row[0] if row else 0, "row")
            message = f"{count} of '{table}' with null in '{column}', written just now"
            raise MigrationRefused(
                message, hint=f"fill '{table}.{column}' in these rows, or give it a default"
            ) from None

    def _count(self, one: Difference) -> None:
        name = f'ALTER COLUMN "{one.what}"'
        self._alter(one.table, f"{name} DROP IDENTITY IF EXISTS, {name} DROP DEFAULT")
        counted = "SELECT pg_get_serial_sequence(%s, %s)"  # of a column that was made `serial`
        row = self._live.execute(counted, (f'"{one.table}"', one.what)).fetchone()
        if row and row[0]:
            self._live.execute(f"DROP SEQUENCE {row[0]}".encode())
        if self._column(one).counts:
            self._alter(one.table, f"{name} ADD GENERATED BY DEFAULT AS IDENTITY")

    def _change_key(self, table: str) -> None:
        old = read_key_name(self._live, table)
        if old:
            self._alter(table, f'DROP CONSTRAINT "{old}"')
        if self._want[table].key:
            self._alter(table, f"ADD PRIMARY KEY ({listed(self._want[table].key)})")

    def _restore(self, have: shape.Shape) -> None:
        """Add what is missing now: rules, indexes, references; rename rules whose name is old."""
        for name, table in self._want.items():
            there = have[name]
            for column, wanted in table.columns.items():
                self._restore_rules(name, there.columns[column].rules, wanted.rules)
            self._restore_rules(name, there.rules, table.rules)
            for index in sorted(table.indexes.keys() - there.indexes.keys()):
                self._index(name, index, table.indexes[index])
        for table_name, column, to in references(self._want):
            if have[table_name].columns[column].reference != to:
                self._add(table_name, write_reference(column, to))

    def _restore_rules(
        self, table: str, have: frozenset[shape.Rule], want: frozenset[shape.Rule]
    ) -> None:
        names = {rule.hash: rule.name for rule in have}
        for rule in sorted(want, key=lambda rule: rule.name):
            old = names.get(rule.hash)
            if old is None:
                self._add(table, write_rule(rule))
            elif old != rule.name:
                self._alter(table, f'RENAME CONSTRAINT "{old}" TO "{rule.name}"')

    def _index(self, table: str, name: str, index: shape.Index) -> None:
        self._live.execute(create_index(table, name, index).encode())
        if index.where:
            self._live.execute(note_where(name, index).encode())

    def _add(self, table: str, constraint: str) -> None:
        self._alter(table, f"ADD {constraint}{'' if table in self._added else ' NOT VALID'}")

    def _alter(self, table: str, how: str) -> None:
        self._run(f"change table '{table}'", f'ALTER TABLE "{table}" {how}')

    def _run(self, what: str, statement: str) -> None:
        with named(what):
            self._live.execute(statement.encode())


def references(tables: shape.Shape) -> Iterator[tuple[str, str, shape.Reference]]:
    """Yield table, column and where it points."""
    for table, found in tables.items():
        for column, one in found.columns.items():
            if one.reference is not None:
                yield table, column, one.reference


PASSING: Final = (psycopg.errors.LockNotAvailable, psycopg.errors.InternalError_)
"""What another try may not meet: a lock, or something that another session dropped meanwhile."""


@contextmanager
def named(what: str) -> Iterator[None]:
    """Say what could not be done; a lock that is not given passes by, it may come later.

    So does a null in the way, whose rows are counted.
    """
    try:
        yield
    except (*PASSING, psycopg.errors.NotNullViolation):
        raise
    except psycopg.Error as error:
        told = error.diag
        reason = told.message_primary or "no reason given"
        raise DatabaseError(f"cannot {what}: {reason}", hint=told.message_hint or "") from None
