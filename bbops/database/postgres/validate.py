"""Check rows that are older than a rule, beside writers; give up a rule they break.

A migration adds rules to existing tables as NOT VALID: they apply to every new write, and writers
did not have to wait while the other rows were read.

Source: PostgreSQL, ALTER TABLE, "Notes".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import psycopg

from bbops.database.diff.changes import Change
from bbops.database.diff.preflight import Rows
from bbops.database.postgres.reading import NAMES, OWNED

FILLED: Final = "_bbops_filled"
"""A check of ours that lets a column forbid null without reading the rows."""
_UNPROVEN: Final = (
    "SELECT t.relname, c.conname, coalesce("
    f"{NAMES.format(keys='c.conkey', table='c.conrelid')}, '{{}}'), coalesce(p.relname, ''),"
    f" coalesce({NAMES.format(keys='c.confkey', table='c.confrelid')}, '{{}}'),"
    " coalesce(pg_get_expr(c.conbin, c.conrelid), '')"
) + OWNED.format(
    joins=" JOIN pg_constraint AS c ON c.conrelid = t.oid"
    " LEFT JOIN pg_class AS p ON p.oid = c.confrelid",
    more=" AND c.contype IN ('c', 'f') AND NOT c.convalidated AND c.conname ~ '^(ck|ct|fk)_'"
    " ORDER BY t.relname, c.conname",
)
_LEFT_CHECKS: Final = "SELECT t.relname" + OWNED.format(
    joins=" JOIN pg_constraint AS c ON c.conrelid = t.oid", more=f" AND c.conname = '{FILLED}'"
)
_LEFT_INDEXES: Final = "SELECT i.relname" + OWNED.format(
    joins=" JOIN pg_index AS x ON x.indrelid = t.oid JOIN pg_class AS i ON i.oid = x.indexrelid",
    more=" AND NOT x.indisvalid AND NOT EXISTS (SELECT FROM pg_stat_progress_create_index AS b"
    " WHERE b.index_relid = x.indexrelid)",
)

Run = Callable[[Callable[[], object]], object]
"""Runs work in its own transaction, with retries while a lock is not available."""


@dataclass(frozen=True, slots=True)
class _Unproven:
    """A rule that older rows may break."""

    table: str
    name: str
    columns: list[str]
    parent: str
    keys: list[str]
    condition: str

    @property
    def broken(self) -> str:
        """The condition of the rows that break it."""
        if not self.parent:
            return f"NOT ({self.condition})"
        column, key = f'child."{self.columns[0]}"', f'parent."{self.keys[0]}"'
        same = f'SELECT FROM "{self.parent}" AS parent WHERE {key} = {column}'
        return f"{column} IS NOT NULL AND NOT EXISTS ({same})"

    def change(self, rows: int) -> Change:
        """Return the refused change, in the form of a plan."""
        if self.parent:
            kind, why = "change the reference of column", "rows refer to nothing"
        elif self.name.startswith("ct_"):
            kind, why = "change the checks of table", "rows violate the new rule"
        else:
            kind, why = "change the rules of column", "rows violate the new rule"
        column = "" if self.name.startswith("ct_") else self.columns[0]
        cure = f"change these rows of '{self.table}' first, or the rule"
        return Change(kind, self.table, column, "impossible", why, Rows(rows), cure)


def forbid_null(live: psycopg.Connection[Any], run: Run, table: str, columns: list[str]) -> None:
    """Let a transaction forbid null in columns without reading the table.

    If a row holds null, nothing is done: the transaction fills it, or reports it.
    """
    filled = " AND ".join(f'"{column}" IS NOT NULL' for column in columns)
    add = f'ALTER TABLE "{table}" ADD CONSTRAINT "{FILLED}" CHECK ({filled}) NOT VALID'
    run(lambda: _alter(live, drop_filled(table), add))
    try:
        run(lambda: _alter(live, _validate(table, FILLED)))
    except psycopg.errors.CheckViolation:
        run(lambda: _alter(live, drop_filled(table)))


def drop_filled(table: str) -> str:
    """Return the statement that removes the check of `forbid_null`."""
    return f'ALTER TABLE "{table}" DROP CONSTRAINT IF EXISTS "{FILLED}"'


def validate(
    live: psycopg.Connection[Any], run: Run, give_up: Callable[[], None]
) -> tuple[Change, ...]:
    """Check every rule of ours that was not checked yet; see `Opened.validate`."""
    broken = []
    for rule in [_Unproven(*row) for row in live.execute(_UNPROVEN.encode())]:
        try:
            run(lambda rule=rule: _alter(live, _validate(rule.table, rule.name)))  # type: ignore[misc]
        except psycopg.IntegrityError:
            broken.append(rule)
    if not broken:
        return ()
    changes = tuple(rule.change(_count(live, rule)) for rule in broken)

    def take_back() -> None:
        _alter(live, *(f'ALTER TABLE "{r.table}" DROP CONSTRAINT "{r.name}"' for r in broken))
        give_up()

    run(take_back)
    return changes


def clean(live: psycopg.Connection[Any], run: Run) -> None:
    """Remove the remains of a killed migration: a check of ours, incomplete indexes."""
    for table in _names(live, _LEFT_CHECKS):
        run(lambda table=table: _alter(live, drop_filled(table)))  # type: ignore[misc]
    for index in _names(live, _LEFT_INDEXES):
        run(lambda index=index: _alter(live, f'DROP INDEX "{index}"'))  # type: ignore[misc]


def _names(live: psycopg.Connection[Any], query: str) -> Iterator[str]:
    for (name,) in live.execute(query.encode()).fetchall():
        yield str(name)


def _validate(table: str, rule: str) -> str:
    return f'ALTER TABLE "{table}" VALIDATE CONSTRAINT "{rule}"'


def _count(live: psycopg.Connection[Any], rule: _Unproven) -> int:
    query = f'SELECT count(*) FROM "{rule.table}" AS child WHERE {rule.broken}'
    found = live.execute(query.encode()).fetchone()
    return int(found[0]) if found else 0


def _alter(live: psycopg.Connection[Any], *statements: str) -> None:
    for statement in statements:
        live.execute(statement.encode())
