"""A database's DDL for tables, and the shape in which it reports declared tables."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from bbops.base.errors import MigrationRefused
from bbops.database.schema import shape
from bbops.database.schema.checks import write_checks, write_where
from bbops.database.schema.conversions import Stored, encode, literal
from bbops.language.resources.table import Column, Table
from bbops.language.sql.dialect import Dialect

_ON_DELETE: Final = {"restrict": "RESTRICT", "cascade": "CASCADE", "setNull": "SET NULL"}


class Ddl(ABC):
    """The DDL of one database; `dialect` writes the checks of tables."""

    dialect: Dialect

    @abstractmethod
    def storage(self, column_type: str) -> str:
        """Return the database's type for a column of a declared type."""

    @abstractmethod
    def literal(self, stored: Stored, column_type: str) -> str:
        """Return the SQL of a stored value of a column."""

    @abstractmethod
    def compared(self, column: str, column_type: str) -> str:
        """Return the SQL of a quoted column for its rules' comparisons."""

    @abstractmethod
    def own_rules(self, column: str, column_type: str) -> Iterator[str]:
        """Yield the rules that every column of that type has."""

    def fit(self, name: str) -> str:
        """Return our name, shortened for the database; a rule's name ends in its hash."""
        return name

    def describe(self, tables: Mapping[str, Table]) -> shape.Shape:
        """Return the shape of the declared tables.

        `unique` is a unique index, not a constraint: it can be added to a table with rows, and
        supports ON CONFLICT anyway.

        Raises:
            MigrationRefused: a default does not fit its column, or two indexes share a name.
        """
        named = {
            column.references for table in tables.values() for column in table.columns.values()
        }
        described = {name: self._table(name, table, named) for name, table in tables.items()}
        _refuse_shared_names(described)
        return described

    def _table(self, name: str, table: Table, named: Collection[str | None]) -> shape.Table:
        columns = {key: self._column(name, key, column) for key, column in table.columns.items()}
        checks = write_checks(name, table, self.dialect)
        rules = frozenset(replace(rule, name=self.fit(rule.name)) for rule in checks)
        indexes = {
            self.fit(key): self._keyed(index, name, table, named)
            for key, index in _indexes(name, table, self.dialect)
        }
        return shape.Table(columns, table.key, indexes, rules)

    def _keyed(
        self, index: shape.Index, name: str, table: Table, named: Collection[str | None]
    ) -> shape.Index:  # fmt: skip
        """Return an index with its keys. Args: `named`: the columns that keys refer to."""
        if not index.unique:
            return index
        types = {
            key: "text" if key in table.key or f"{name}.{key}" in named else column.type
            for key, column in table.columns.items()
        }
        keys = tuple(
            self.dialect.unique_key(name_, types.get(name_, "")) for name_ in index.columns
        )
        plain = tuple(f'"{name_}"' for name_ in index.columns)
        return index if keys == plain else replace(index, keys=keys)

    def _column(self, table: str, name: str, column: Column) -> shape.Column:
        default = default_sql = None
        if column.default is not None:
            stored = _encode(column, column.default, f"the default of '{table}.{name}'")
            default, default_sql = literal(stored), self.literal(stored, column.type)
        return shape.Column(
            self.storage(column.type),
            column.type,
            nullable=column.nullable,
            default=default,
            default_sql=default_sql,
            is_stamped=column.auto is not None,
            counts=column.auto == "increment",
            rules=frozenset(self._rules(table, name, column)),
            reference=self._reference(table, name, column),
        )

    def _rules(self, table: str, name: str, column: Column) -> Iterator[shape.Rule]:
        quoted = f'"{name}"'
        same = self._conditions(table, name, "?", column)  # a rename does not change the hash
        for sql, neutral in zip(self._conditions(table, name, quoted, column), same, strict=True):
            digest = hashlib.sha256(neutral.encode()).hexdigest()[:8]
            yield shape.Rule(digest, self.fit(f"ck_{table}_{name}_{digest}"), sql)

    def _conditions(self, table: str, name: str, quoted: str, column: Column) -> Iterator[str]:
        value = self.compared(quoted, column.type)
        yield from self.own_rules(quoted, column.type)
        if column.enum:
            where = f"the enum of '{table}.{name}'"
            values = [_encode(column, value, where) for value in column.enum]
            written = [str(v) if column.type == "decimal" else literal(v) for v in values]
            yield f"{value} IN ({', '.join(written)})"
        if column.min_length is not None:
            yield f"length({quoted}) >= {column.min_length}"
        if column.max_length is not None:
            yield f"length({quoted}) <= {column.max_length}"
        if column.minimum is not None:
            yield f"{value} >= {column.minimum!r}"
        if column.maximum is not None:
            yield f"{value} <= {column.maximum!r}"

    def _reference(self, table: str, name: str, column: Column) -> shape.Reference | None:
        if not column.references:
            return None
        parent, key = column.references.split(".")
        action = _ON_DELETE[column.on_delete]
        return shape.Reference(parent, key, action, self.fit(f"fk_{table}_{name}"))


def _indexes(name: str, table: Table, dialect: Dialect) -> Iterator[tuple[str, shape.Index]]:
    whole = [index for index in table.indexes.values() if index.where is None]
    started = {index.columns[0] for index in whole} | set(table.key[:1])
    for key, column in table.columns.items():
        if column.unique:
            yield f"uq_{name}_{key}", shape.Index((key,), unique=True)
        elif column.references and key not in started:
            yield f"ix_{name}_{key}", shape.Index((key,), unique=False)
    for key, index in table.indexes.items():
        where = write_where(name, table, key, dialect)
        yield key, shape.Index(tuple(index.columns), index.unique, where)


def _encode(column: Column, value: Any, where: str) -> Stored:
    try:
        return encode(column.type, value)
    except ValueError as error:
        raise MigrationRefused(f"{where} does not fit its column: {error}") from None


def _refuse_shared_names(described: shape.Shape) -> None:
    owners = {name: name for name in described}
    for name, table in described.items():
        for index in sorted(table.indexes):
            other = owners.setdefault(index, name)
            if other != name or index in described:
                raise MigrationRefused(
                    f"index '{index}' of table '{name}' has the name of another index"
                    f" or table ('{other}')",
                    hint="all tables of a database share these names: put the table's name in it",
                )
