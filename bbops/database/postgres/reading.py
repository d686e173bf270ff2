"""Read what the tables of a PostgreSQL schema are made of, from its catalogue."""

from __future__ import annotations

import re
from typing import Any, Final

import psycopg

from bbops.database.postgres.ddl import OF_ROWS, read_default
from bbops.database.schema import shape

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
