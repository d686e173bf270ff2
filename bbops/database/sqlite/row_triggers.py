"""SQL triggers of a SQLite file that report changed rows.

They only call functions of SQLite, so that other programs can write to the file. A value is
reported in the form of our JSON decoders: bytes in hex, and a number with all its digits.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Final

from bbops.database.schema import shape
from bbops.database.schema.conversions import literal
from bbops.database.schema.row_events import ByTable, Condition, RowEvents
from bbops.runtime.work.rows import Operation, row_event

_PREFIX: Final = "_bbops_on_"
_EACH_ARGUMENTS: Final = 50
"""Columns in one JSON object: a function of SQLite may have 127 arguments."""

_NOW: Final = "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"
_CAUSE: Final = "coalesce((SELECT {} FROM _bbops_cause), {})"
_TOLD: Final = {
    "BLOB": "CASE WHEN {0} IS NOT NULL THEN hex({0}) END",
    "REAL": "CASE WHEN {0} IS NOT NULL THEN printf('%!.17g', {0}) END",
}
_STORED: Final = {"text": "TEXT", "integer": "INTEGER", "number": "REAL", "boolean": "INTEGER"}
_ROWS: Final[dict[Operation, tuple[str, ...]]] = {
    "insert": ("NEW",), "update": ("NEW", "OLD"), "delete": ("OLD",)
}  # fmt: skip


def drop_row_triggers(live: sqlite3.Connection) -> None:
    """Stop all reports."""
    query = "SELECT name FROM main.sqlite_master WHERE type = 'trigger' AND name GLOB ?"
    for (name,) in live.execute(query, (f"{_PREFIX}*",)).fetchall():
        live.execute(f'DROP TRIGGER main."{name}"')


def make_row_triggers(live: sqlite3.Connection, wanted: ByTable, have: shape.Shape) -> None:
    """Report these changes, for existing tables and columns."""
    drop_row_triggers(live)
    for table, events in wanted.items():
        if table in have:
            for statement in _statements(table, events, have[table]):
                live.execute(statement)


def _statements(table: str, events: RowEvents, have: shape.Table) -> Iterator[str]:
    columns = [(name, have.columns[name].type) for name in events.columns if name in have.columns]
    job, depth = _CAUSE.format("job", "''"), _CAUSE.format("depth", "0")
    for operation in events.operations:
        rows = ", ".join(f"'{row.lower()}Row', {_row(row, columns)}" for row in _ROWS[operation])
        name = literal(row_event(table, operation))
        asked = _asked(events.conditions.get(operation), have)
        yield (
            f'CREATE TRIGGER main."{_PREFIX}{operation}_{table}" AFTER {operation.upper()}'
            f' ON "{table}" {asked}BEGIN'
            " INSERT INTO _bbops_outbox (name, key, payload, at, cause, depth)"
            f" VALUES ({name}, '', json_object({rows}), {_NOW}, {job}, {depth}); END"
        )


def _asked(condition: Condition | None, have: shape.Table) -> str:
    """Return the condition on a change; empty if the columns do not fit the condition."""
    if condition is None or not all(_fits(name, of, have) for name, of in condition.reads):
        return ""
    return f"WHEN {condition.sqlite} "


def _fits(column: str, kind: str, have: shape.Table) -> bool:
    return column in have.columns and have.columns[column].type == _STORED[kind]


def _row(row: str, columns: Sequence[tuple[str, str]]) -> str:
    """Return a row as SQL: a list of objects, which together have its columns."""
    told = [
        f"{literal(name)}, {_TOLD.get(of, '{0}').format(f'{row}.{chr(34)}{name}{chr(34)}')}"
        for name, of in columns
    ]
    parts = [
        f"json_object({', '.join(told[at : at + _EACH_ARGUMENTS])})"
        for at in range(0, len(told), _EACH_ARGUMENTS)
    ]
    return f"json_array({', '.join(parts)})"
