"""What an event or a changed row hands to a function, of the types that the real ones have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bbops.language.project import Project
from bbops.language.shape import shape_spec
from bbops.language.sql.types import SqlTable
from bbops.runtime.data.rows import DECODERS, ENCODERS
from bbops.runtime.values.failures import FlowError
from bbops.runtime.values.shapes import compile_shape


def typed_event(project: Project, function: str, event: Mapping[str, Any]) -> dict[str, Any]:
    """Return an event whose payload is what the function's `payload` makes of it.

    Raises:
        FlowError: it does not fit.
    """
    shape, errors = project.functions[function].model.payload, dict[str, list[str]]()
    if shape is None:
        return dict(event)
    payload = compile_shape(shape_spec(shape))(event.get("payload") or {}, "", errors)
    if errors:
        wrong = "; ".join(f"'{path}' {texts[0]}" for path, texts in errors.items())
        raise FlowError(f"the payload does not fit function '{function}': {wrong}")
    return {**event, "payload": payload}


def typed_rows(project: Project, function: str, rows: Mapping[str, Any]) -> dict[str, Any]:
    """Return the rows of a trigger as the database gives them; columns left out are null.

    Raises:
        FlowError: a value is none of its column.
    """
    tables = list(_tables(project, function))
    return {name: row and _typed(_table_of(tables, row), row) for name, row in rows.items()}


def _tables(project: Project, function: str) -> Iterator[SqlTable]:
    for one in project.triggers.values():
        happens = one.model.database
        if one.model.function == function and happens and happens.table in project.stored_tables:
            yield project.stored_tables[happens.table]


def _table_of(tables: list[SqlTable], row: Mapping[str, Any]) -> SqlTable | None:
    """Return the table that the row can be of; a function may serve several triggers."""
    return next((table for table in tables if row.keys() <= table.columns.keys()), None)


def _typed(table: SqlTable | None, row: Mapping[str, Any]) -> dict[str, Any]:
    if table is None:
        return dict(row)
    found: dict[str, Any] = {}
    for name, column in table.columns.items():
        stored = ENCODERS[column.type](row.get(name), name)
        found[name] = DECODERS[column.type](stored) if column.type in DECODERS else stored
    return found
