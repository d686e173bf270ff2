"""The catalog of a PostgreSQL schema, and statements that it only compiles."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import asyncpg
import psycopg

from bbops.database.diff.adopt import Rest
from bbops.database.postgres.connection import connect
from bbops.database.postgres.ddl import OF_ROWS, read_default
from bbops.database.schema import shape
from bbops.database.schema.place import PostgresPlace

OWNED: Final = (
    " FROM pg_class AS t JOIN pg_namespace AS n ON n.oid = t.relnamespace{joins}"
    " WHERE n.nspname = current_schema() AND t.relkind = 'r' AND left(t.relname, 1) <> '_'{more}"
)
_TABLES: Final = "SELECT t.relname" + OWNED.format(joins="", more="")
_COLUMNS: Final = (
    "SELECT t.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,"
    " pg_get_expr(d.adbin, d.adrelid), a.attidentity <> ''"
) + OWNED.format(
    joins=" JOIN pg_attribute AS a ON a.attrelid = t.oid"
    " LEFT JOIN pg_attrdef AS d ON d.adrelid = t.oid AND d.adnum = a.attnum",
    more=" AND a.attnum > 0 AND NOT a.attisdropped ORDER BY t.relname, a.attnum",
)
NAMES: Final = (
    "(SELECT array_agg(a.attname ORDER BY k.place) FROM unnest({keys}) WITH ORDINALITY"
    " AS k(number, place) JOIN pg_attribute AS a ON a.attrelid = {table} AND a.attnum = k.number)"
)
_CONSTRAINTS: Final = (
    "SELECT t.relname, c.conname, c.contype::text,"
    f" {NAMES.format(keys='c.conkey', table='c.conrelid')}, coalesce(p.relname, ''),"
    f" {NAMES.format(keys='c.confkey', table='c.confrelid')}, c.confdeltype::text"
) + OWNED.format(
    joins=" JOIN pg_constraint AS c ON c.conrelid = t.oid"
    " LEFT JOIN pg_class AS p ON p.oid = c.confrelid",
    more=" AND c.contype IN ('c', 'f', 'p') ORDER BY t.relname, c.conname",
)
_INDEXES: Final = (
    "SELECT t.relname, i.relname, x.indisunique,"
    f" {NAMES.format(keys='x.indkey::int2[]', table='t.oid')},"
    " obj_description(i.oid, 'pg_class'), x.indpred IS NOT NULL"
) + OWNED.format(
    joins=" JOIN pg_index AS x ON x.indrelid = t.oid JOIN pg_class AS i ON i.oid = x.indexrelid",
    more=" AND NOT x.indisprimary AND x.indisvalid"
    f" AND (x.indpred IS NULL OR starts_with(obj_description(i.oid, 'pg_class'), '{OF_ROWS}'))"
    " AND 0 <> ALL (x.indkey::int2[]) ORDER BY t.relname, i.relname",
)
_ON_DELETE: Final = {
    "a": "NO ACTION", "r": "RESTRICT", "c": "CASCADE", "n": "SET NULL", "d": "SET DEFAULT",
}  # fmt: skip
_RULE: Final = re.compile(r"(c[kt])_\w+_([0-9a-f]{8})")

Found = dict[str, dict[str, Any]]


def read_shape(live: psycopg.Connection[Any]) -> shape.Shape:
    """Return the tables of the connection's schema; those that begin with `_` are ours."""
    found: Found = {
        name: {"columns": {}, "key": (), "indexes": {}, "rules": {}, "references": {}}
        for (name,) in live.execute(_TABLES)
    }
    for table, name, kind, names, parent, keys, on_delete in live.execute(_CONSTRAINTS):
        _add_constraint(found[table], name, kind, names or [], parent, keys, on_delete)
    for table, name, unique, columns, note, is_partial in live.execute(_INDEXES.encode()):
        where = note.removeprefix(OF_ROWS) if is_partial else ""
        found[table]["indexes"][name] = shape.Index(tuple(columns), unique, where)
    for table, name, *column in live.execute(_COLUMNS):
        found[table]["columns"][name] = _column(found[table], name, *column)
    return {
        name: shape.Table(
            table["columns"], table["key"], table["indexes"],
            frozenset(table["rules"].get("", ())),
        )
        for name, table in found.items()
    }  # fmt: skip


def read_key_name(live: psycopg.Connection[Any], table: str) -> str | None:
    """Return the name of a table's primary key."""
    query = "SELECT conname FROM pg_constraint WHERE conrelid = %s::regclass AND contype = 'p'"
    row = live.execute(query, (f'"{table}"',)).fetchone()
    return str(row[0]) if row else None


def _add_constraint(
    table: dict[str, Any], name: str, kind: str, columns: list[str], parent: str,
    keys: list[str], on_delete: str,
) -> None:  # fmt: skip
    if kind == "p":
        table["key"] = tuple(columns)
    elif kind == "f" and len(columns) == 1:  # no table declares one of several columns
        to = shape.Reference(parent, keys[0], _ON_DELETE[on_delete], name)
        table["references"][columns[0]] = to
    elif kind == "c" and (ours := _RULE.fullmatch(name)):
        column = columns[0] if ours[1] == "ck" and columns else ""
        table["rules"].setdefault(column, []).append(shape.Rule(ours[2], name))


def _column(
    table: dict[str, Any], name: str, storage: str, not_null: bool, default: str | None,
    is_identity: bool,
) -> shape.Column:  # fmt: skip
    counts = is_identity or (default or "").startswith("nextval(")
    return shape.Column(
        storage,
        nullable=not not_null,
        default=None if default is None or counts else read_default(default, storage),
        counts=counts,
        rules=frozenset(table["rules"].get(name, ())),
        reference=table["references"].get(name),
    )


# ---- The parts of a PostgreSQL schema that its shape leaves out

_UNIQUES: Final = (
    f"SELECT t.relname, {NAMES.format(keys='c.conkey', table='c.conrelid')}"
) + OWNED.format(
    joins=" JOIN pg_constraint AS c ON c.conrelid = t.oid", more=" AND c.contype = 'u'"
)
_ENUMS: Final = (
    "SELECT t.relname, a.attname, array_agg(e.enumlabel ORDER BY e.enumsortorder)"
) + OWNED.format(
    joins=" JOIN pg_attribute AS a ON a.attrelid = t.oid AND a.attnum > 0"
    " JOIN pg_enum AS e ON e.enumtypid = a.atttypid",
    more=" GROUP BY t.relname, a.attname",
)
_ODD_INDEXES: Final = "SELECT t.relname, i.relname" + OWNED.format(
    joins=" JOIN pg_index AS x ON x.indrelid = t.oid JOIN pg_class AS i ON i.oid = x.indexrelid",
    more=" AND (x.indpred IS NOT NULL OR 0 = ANY (x.indkey::int2[]))",
)
_CHECKS: Final = "SELECT DISTINCT t.relname" + OWNED.format(
    joins=" JOIN pg_constraint AS c ON c.conrelid = t.oid",
    more=" AND c.contype = 'c' AND c.conname !~ '^c[kt]_.*_[0-9a-f]{8}$|^_bbops_'",
)
_MANY: Final = "SELECT t.relname, c.conname" + OWNED.format(
    joins=" JOIN pg_constraint AS c ON c.conrelid = t.oid",
    more=" AND c.contype = 'f' AND cardinality(c.conkey) > 1",
)
_TRIGGERS: Final = "SELECT t.relname, g.tgname" + OWNED.format(
    joins=" JOIN pg_trigger AS g ON g.tgrelid = t.oid",
    more=" AND NOT g.tgisinternal AND left(g.tgname, 7) <> '_bbops_'",
)
_GENERATED: Final = "SELECT t.relname, a.attname" + OWNED.format(
    joins=" JOIN pg_attribute AS a ON a.attrelid = t.oid", more=" AND a.attgenerated <> ''"
)
_OTHERS: Final = (
    "SELECT CASE c.relkind WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view'"
    " WHEN 'f' THEN 'foreign table' ELSE 'partitioned table' END, c.relname FROM pg_class AS c"
    " WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('v', 'm', 'f', 'p')"
)


def read_rest(live: psycopg.Connection[Any]) -> Rest:
    """Return these parts; only the catalog is read."""
    uniques: dict[str, list[tuple[str, ...]]] = {}
    for table, columns in live.execute(_UNIQUES.encode()):
        uniques.setdefault(table, []).append(tuple(columns))
    enums = {(table, column): tuple(of) for table, column, of in live.execute(_ENUMS.encode())}
    checks = frozenset(table for (table,) in live.execute(_CHECKS.encode()))
    return Rest(uniques, enums, checks, tuple(_remarks(live)))


def _remarks(live: psycopg.Connection[Any]) -> Iterator[str]:
    for kind, name in live.execute(_OTHERS):
        yield f"{kind} '{name}' stays as it is, and is not in the project"
    for table, name in live.execute(_TRIGGERS.encode()):
        yield f"trigger '{name}' of '{table}' stays as it is, and is not in the project"
    for table, name in live.execute(_ODD_INDEXES.encode()):
        yield f"index '{name}' of '{table}' is left out: it is partial, or on an expression"
    for table, name in live.execute(_MANY.encode()):
        yield f"reference '{name}' of table '{table}' over several columns is left out"
    for table, name in live.execute(_GENERATED.encode()):
        yield f"column '{table}.{name}' is computed: it is left out"


# ---- Have a server compile statements: their mistakes with positions, and their columns


class CompileResult(NamedTuple):
    """The server's verdict on a statement.

    Attributes:
        complaint: the error message; empty if the statement compiles.
        position: the offset of the mistake.
        columns: the columns of its result.
    """

    complaint: str
    position: int = 0
    columns: tuple[str, ...] = ()


async def compiled(place: PostgresPlace, statements: Sequence[str]) -> list[CompileResult]:
    """Return the server's verdict on each statement. Nothing runs."""
    connection = await connect(place, reads=True)
    try:
        return [await _compiled(connection, statement) for statement in statements]
    finally:
        await connection.close()


async def _compiled(connection: asyncpg.Connection, statement: str) -> CompileResult:
    try:
        prepared = await connection.prepare(statement)
    except asyncpg.PostgresError as error:
        position = getattr(error, "position", None)
        return CompileResult(str(error).partition("\n")[0], int(position or 1) - 1)
    return CompileResult(
        "", columns=tuple(attribute.name for attribute in prepared.get_attributes())
    )
