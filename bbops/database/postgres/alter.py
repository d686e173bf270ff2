"""Apply differences to a live PostgreSQL schema, inside the caller's transaction.

References are dropped first and added last: so types, keys and tables may change in any order. A
rule on an existing table applies to new writes; `bbops.database.postgres.validate` checks the other
rows, after the transaction.
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


class PostgresAlteration:
    """The steps from the live tables to the declared ones."""

    def __init__(
        self,
        live: psycopg.Connection[Any],
        want: shape.Shape,
        differences: Collection[Difference],
        carried: Mapping[str, Carry],
    ) -> None:
        """Args: `carried` has the new form of each row, after all renames."""
        self._live, self._want, self._carried = live, want, carried
        self._differences = differences
        self._added = {new.table for new in self._of("add table")}

    def make(self, have: shape.Shape) -> None:
        """Apply the differences."""
        self._unlink(have)
        self._remove_rules(have)
        self._remove(have)
        for new in self._of("add table"):
            self._run(f"create table '{new.table}'", create_table(new.table, self._table(new)))
        for new in self._of("add column"):
            self._add_column(new.table, new.what)
        for changed in self._of("type"):
            self._change_type(changed.table, changed.what)
        for changed in self._of("null", "default", "counts"):
            self._change_column(changed)
        for table in {changed.table for changed in self._of("null")}:
            self._live.execute(drop_filled(table).encode())
        for changed in self._of("key"):
            self._change_key(changed.table)
        self._restore(read_shape(self._live))

    def _of(self, *kinds: shape.Kind) -> list[Difference]:
        return [difference for difference in self._differences if difference.kind in kinds]

    def _table(self, difference: Difference) -> shape.Table:
        return self._want[difference.table]

    def _column(self, difference: Difference) -> shape.Column:
        return self._want[difference.table].columns[difference.what]

    def _unlink(self, have: shape.Shape) -> None:
        """Remove the references that change, and those from or to changed columns."""
        changed = {
            (dropped.table, dropped.what)
            for dropped in self._of("drop column", "type", "reference", "drop index")
        }
        tables = {dropped.table for dropped in self._of("drop table", "key", "drop index")}
        for table, column, to in references(have):
            ends = {(table, column), (to.table, to.column)}
            if ends & changed or tables & {table, to.table}:
                self._alter(table, f'DROP CONSTRAINT "{to.name}"')

    def _remove_rules(self, have: shape.Shape) -> None:
        for changed in self._of("rules", "type"):
            for rule in have[changed.table].columns[changed.what].rules:
                self._alter(changed.table, f'DROP CONSTRAINT IF EXISTS "{rule.name}"')
        for changed in self._of("table rules"):
            for rule in have[changed.table].rules - self._table(changed).rules:
                self._alter(changed.table, f'DROP CONSTRAINT "{rule.name}"')

    def _remove(self, have: shape.Shape) -> None:
        for index in self._of("index name"):
            old = shape.old_index(have[index.table], self._table(index), index.what)
            self._live.execute(f'ALTER INDEX "{old}" RENAME TO "{index.what}"'.encode())
        for index in self._of("drop index"):
            self._live.execute(f'DROP INDEX "{index.what}"'.encode())
        for dropped in self._of("drop table"):
            self._run(f"drop table '{dropped.table}'", f'DROP TABLE "{dropped.table}"')
        for dropped in self._of("drop column"):
            self._alter(dropped.table, f'DROP COLUMN "{dropped.what}"')

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

    def _change_column(self, difference: Difference) -> None:
        column, name = self._column(difference), f'"{difference.what}"'
        if difference.kind == "default":
            to = f"SET DEFAULT {column.default_sql}" if column.default_sql else "DROP DEFAULT"
            self._alter(difference.table, f"ALTER COLUMN {name} {to}")
        elif difference.kind == "counts":
            self._count(difference)
        elif column.nullable:
            self._alter(difference.table, f"ALTER COLUMN {name} DROP NOT NULL")
        else:
            filler = self._carried[difference.table].columns[difference.what].filler
            if filler is not None:
                fill = f'UPDATE "{difference.table}" SET {name} = {filler} WHERE {name} IS NULL'
                self._live.execute(fill.encode())
            self._forbid_null(difference.table, difference.what)

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

    def _count(self, difference: Difference) -> None:
        name = f'ALTER COLUMN "{difference.what}"'
        self._alter(difference.table, f"{name} DROP IDENTITY IF EXISTS, {name} DROP DEFAULT")
        counted = "SELECT pg_get_serial_sequence(%s, %s)"  # of a column that was made `serial`
        row = self._live.execute(counted, (f'"{difference.table}"', difference.what)).fetchone()
        if row and row[0]:
            self._live.execute(f"DROP SEQUENCE {row[0]}".encode())
        if self._column(difference).counts:
            self._alter(difference.table, f"{name} ADD GENERATED BY DEFAULT AS IDENTITY")

    def _change_key(self, table: str) -> None:
        old = read_key_name(self._live, table)
        if old:
            self._alter(table, f'DROP CONSTRAINT "{old}"')
        if self._want[table].key:
            self._alter(table, f"ADD PRIMARY KEY ({listed(self._want[table].key)})")

    def _restore(self, have: shape.Shape) -> None:
        """Add missing rules, indexes and references; rename rules with an old name."""
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
    """Yield table, column and reference."""
    for table, found in tables.items():
        for column, reference in found.columns.items():
            if reference.reference is not None:
                yield table, column, reference.reference


PASSING: Final = (psycopg.errors.LockNotAvailable, psycopg.errors.InternalError_)
"""Errors that a retry may not meet: a lock, or an object that another session dropped."""


@contextmanager
def named(what: str) -> Iterator[None]:
    """Name the failed change in an error; an unavailable lock and a null in the way are temporary.

    The rows with a null are counted.
    """
    try:
        yield
    except (*PASSING, psycopg.errors.NotNullViolation):
        raise
    except psycopg.Error as error:
        told = error.diag
        reason = told.message_primary or "no reason given"
        raise DatabaseError(f"cannot {what}: {reason}", hint=told.message_hint or "") from None
