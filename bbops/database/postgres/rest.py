"""The parts of a PostgreSQL schema that its shape leaves out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import psycopg

from bbops.database.diff.adopt import Rest
from bbops.database.postgres.reading import NAMES, OWNED

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
