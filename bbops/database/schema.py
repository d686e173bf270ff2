"""Describe tables to SQLAlchemy, and ask it for statements and for differences to a live schema.

The only file that imports SQLAlchemy and Alembic (0.6 s): import it when a schema changed.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Mapping
from typing import Any

import sqlalchemy as sa
from alembic.autogenerate import produce_migrations
from alembic.migration import MigrationContext
from sqlalchemy.pool import StaticPool
from sqlalchemy.schema import CreateIndex, CreateTable

from bbops.database.values import Stored, encode, literal
from bbops.errors import MigrationRefused
from bbops.resources.table import Column, Table

_STORAGE: dict[str, type[sa.types.TypeEngine[Any]]] = {
    "integer": sa.INTEGER,
    "bigint": sa.INTEGER,
    "boolean": sa.INTEGER,
    "number": sa.REAL,
    "binary": sa.BLOB,
}
_ON_DELETE = {"restrict": "RESTRICT", "cascade": "CASCADE", "setNull": "SET NULL"}


def metadata(tables: Mapping[str, Table]) -> sa.MetaData:
    """Return the STRICT tables of SQLite that hold `tables`; references may form circles.

    `unique` is a unique index, not a constraint of the table: SQLite can add it to a column that
    joins a table with rows, and it takes part in ON CONFLICT all the same.

    Raises:
        MigrationRefused: a default is no value of its column, or two indexes share a name.
    """
    described = sa.MetaData()
    for name, table in tables.items():
        _describe(described, name, table)
    _refuse_shared_names(described)
    return described


def create_table(table: sa.Table) -> list[str]:
    """Return the statements that make a table and its indexes."""
    return [create_bare_table(table, str(table.name)), *create_indexes(table)]


def create_bare_table(table: sa.Table, name: str) -> str:
    """Return the statement that makes a table without its indexes, under another name."""
    dialect = sa.create_engine("sqlite://").dialect
    statement = str(CreateTable(table).compile(dialect=dialect)).strip()
    return statement.replace(f'CREATE TABLE "{table.name}"', f'CREATE TABLE "{name}"', 1)


def create_indexes(table: sa.Table) -> list[str]:
    """Return the statements that make the indexes of a table."""
    return [create_index(index) for index in _sorted_indexes(table)]


def create_index(index: sa.Index) -> str:
    """Return the statement that makes an index."""
    dialect = sa.create_engine("sqlite://").dialect
    return str(CreateIndex(index).compile(dialect=dialect)).strip()


def add_column(column: sa.Column[Any], default: str | None) -> str:
    """Return the statement that adds a column, with its rules, to a table that exists.

    Its own text: Alembic adds rules one by one, which SQLite cannot do to a table.
    """
    null = "" if column.nullable else " NOT NULL"
    value = f" DEFAULT {default}" if default is not None else ""
    rules = "".join(f"\n  {rule}" for rule in column.info["clauses"])
    return (
        f'ALTER TABLE "{column.table.name}" ADD COLUMN "{column.name}" '
        f"{column.type.compile()}{value}{null}{rules}"
    )


def differences(live: sqlite3.Connection, described: sa.MetaData) -> list[tuple[Any, ...]]:
    """Return Alembic's difference tuples that lead from `live` to `described`.

    An open transaction of `live` stays open. Tables that begin with `_` are ours and not compared.
    Foreign keys are left to the caller: SQLAlchemy does not see what an added column's does.
    """
    engine = sa.create_engine(
        "sqlite://",
        creator=lambda: live,
        poolclass=StaticPool,
        pool_reset_on_return=None,
        skip_autocommit_rollback=True,
    )
    with engine.connect() as connection:
        context = MigrationContext.configure(
            connection,
            opts={
                "target_metadata": described,
                "compare_type": True,
                "compare_server_default": _differs_in_default,
                "include_object": _is_compared,
                "autogenerate_plugins": [
                    "alembic.autogenerate.*",
                    # checks are told apart by name, which is why names hold a hash of the rule
                    "alembic.ext.checkconstraint_byname",
                ],
            },
        )
        found = produce_migrations(context, described).upgrade_ops
        return list(_flatten(found.as_diffs())) if found is not None else []


def _flatten(differences: list[Any]) -> Iterator[tuple[Any, ...]]:
    for difference in differences:
        if isinstance(difference, list):
            yield from difference
        else:
            yield difference


def _is_compared(
    _item: object, name: str | None, kind: str, _reflected: object, _other: object
) -> bool:
    if kind == "foreign_key_constraint":
        return False
    return kind != "table" or not (name or "").startswith(("_", "sqlite_"))


def _differs_in_default(
    _context: object, _live: object, described: sa.Column[Any], default: str | None, *_: object
) -> bool:
    if described.info["auto"]:
        return False  # a column that joined a table with rows keeps the time of its migration
    if default is not None and default.startswith("("):
        default = default[1:-1]  # SQLAlchemy's way to write what is no plain number or text
    return bool(default != described.info["default"])


def _describe(described: sa.MetaData, name: str, table: Table) -> None:
    columns = {key: _column(name, key, column) for key, column in table.columns.items()}
    increments = any(column.auto == "increment" for column in table.columns.values())
    made = sa.Table(
        sa.quoted_name(name, quote=True),
        described,
        *columns.values(),
        sa.PrimaryKeyConstraint(*table.key),
        *(rule for key, column in table.columns.items() for rule in _rules(name, key, column)),
        sqlite_strict=True,
        sqlite_autoincrement=increments,
    )
    for index, keys, unique in _indexes(name, table):
        sa.Index(sa.quoted_name(index, quote=True), *(made.c[key] for key in keys), unique=unique)


def _column(table: str, name: str, column: Column) -> sa.Column[Any]:
    default = _default(table, name, column)
    clauses = [f"CONSTRAINT {rule} CHECK ({sql})" for rule, sql in _checks(table, name, column)]
    if column.references:
        parent, key = column.references.split(".")
        clauses.append(
            f'CONSTRAINT fk_{table}_{name} REFERENCES "{parent}" ("{key}") '
            f"ON DELETE {_ON_DELETE[column.on_delete]}"
        )
    return sa.Column(
        sa.quoted_name(name, quote=True),
        _STORAGE.get(column.type, sa.TEXT)(),
        nullable=column.nullable,
        autoincrement=column.auto == "increment",
        server_default=None if default is None else _verbatim(default),
        info={"default": default, "auto": column.auto, "clauses": clauses, "type": column.type},
    )


def _default(table: str, name: str, column: Column) -> str | None:
    if column.default is None:
        return None
    return literal(_encode(column, column.default, f"the default of '{table}.{name}'"))


def _encode(column: Column, value: Any, where: str) -> Stored:
    try:
        return encode(column.type, value)
    except ValueError as error:
        raise MigrationRefused(f"{where} does not fit its column: {error}") from None


def _verbatim(sql: str) -> sa.TextClause:
    return sa.text(sql.replace(":", "\\:"))  # a colon would begin a parameter


def _rules(table: str, name: str, column: Column) -> Iterator[sa.Constraint]:
    for rule, sql in _checks(table, name, column):
        yield sa.CheckConstraint(_verbatim(sql), name=rule)
    if column.references:
        yield sa.ForeignKeyConstraint(
            [name],
            [column.references],
            name=f"fk_{table}_{name}",
            ondelete=_ON_DELETE[column.on_delete],
            use_alter=True,  # keeps SQLAlchemy from sorting tables, which fails on a circle
        )


def _checks(table: str, name: str, column: Column) -> Iterator[tuple[str, str]]:
    for sql in _conditions(table, name, column):
        digest = hashlib.sha256(sql.encode()).hexdigest()[:8]
        yield f"ck_{table}_{name}_{digest}", sql


def _conditions(table: str, name: str, column: Column) -> Iterator[str]:
    quoted = f'"{name}"'
    # a cast and not our collation: other programs must be able to write to the file
    number = f"CAST({quoted} AS NUMERIC)" if column.type == "decimal" else quoted
    if column.type == "boolean":
        yield f"{quoted} IN (0, 1)"
    if column.enum:
        where = f"the enum of '{table}.{name}'"
        values = [_encode(column, value, where) for value in column.enum]
        written = [str(v) if column.type == "decimal" else literal(v) for v in values]
        yield f"{number} IN ({', '.join(written)})"
    if column.min_length is not None:
        yield f"length({quoted}) >= {column.min_length}"
    if column.max_length is not None:
        yield f"length({quoted}) <= {column.max_length}"
    if column.minimum is not None:
        yield f"{number} >= {column.minimum!r}"
    if column.maximum is not None:
        yield f"{number} <= {column.maximum!r}"


def _indexes(name: str, table: Table) -> Iterator[tuple[str, list[str], bool]]:
    started = {index.columns[0] for index in table.indexes.values()} | set(table.key[:1])
    for key, column in table.columns.items():
        if column.unique:
            yield f"uq_{name}_{key}", [key], True
        elif column.references and key not in started:
            yield f"ix_{name}_{key}", [key], False
    for key, index in table.indexes.items():
        yield key, list(index.columns), index.unique


def _sorted_indexes(table: sa.Table) -> list[sa.Index]:
    return sorted(table.indexes, key=lambda index: str(index.name))


def _refuse_shared_names(described: sa.MetaData) -> None:
    owners = {str(name): str(name) for name in described.tables}
    for table in described.tables.values():
        for index in _sorted_indexes(table):
            other = owners.setdefault(str(index.name), str(table.name))
            if other != table.name or str(index.name) in described.tables:
                raise MigrationRefused(
                    f"index '{index.name}' of table '{table.name}' has the name of another index"
                    f" or table ('{other}')",
                    hint="all tables of a database share these names: put the table's name in it",
                )
