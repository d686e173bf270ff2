"""A made-up row of a table, for tests that need one: nothing in it comes from a database."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import ValidationError

from bbops.language.json_schema import field_schema
from bbops.language.loading.likes import as_field
from bbops.language.resources.table import Column, Table
from bbops.language.shape import Field
from bbops.review.contract.examples import sample_of
from bbops.review.contract.recorded_cases import escape
from bbops.runtime.values.failures import NOTHING

EMAIL: Final = "ada@example.com"
_INTEGERS: Final = frozenset({"integer", "bigint"})


def sample_row(body: Mapping[str, Any], key: str) -> dict[str, Any] | None:
    """Return a row of a table with a given primary key, and a value in each required column.

    Args:
        body: the table, as its file has it.
        key: the primary key as text.

    Returns:
        None if no row can be made up: the primary key has several columns, a required column
        refers to another table or copies its type by `like`, or the table is not valid.
    """
    table = _parse(body)
    if table is None or len(table.key) != 1 or table.key[0] not in table.columns:
        return None
    row: dict[str, Any] = {str(table.key[0]): _key(table.columns[table.key[0]], key)}
    for name, column in table.columns.items():
        if name in row or not _is_required(column):
            continue
        value = NOTHING if column.references else _sample(table, name)
        if value is NOTHING:
            return None
        row[str(name)] = value
    return row


def has_row(body: Mapping[str, Any], rows: object, key: str) -> bool:
    """Return whether rows of a table, as a file has them, include a primary key."""
    table = _parse(body)
    if table is None or len(table.key) != 1 or not isinstance(rows, list):
        return False
    return any(isinstance(row, dict) and str(row.get(table.key[0])) == key for row in rows)


def _parse(body: Mapping[str, Any]) -> Table | None:
    try:
        return Table.model_validate(body)
    except ValidationError:
        return None


def _key(column: Column, key: str) -> int | str:
    return int(key) if column.type in _INTEGERS and key.isdecimal() else escape(key)


def _is_required(column: Column) -> bool:
    return not column.nullable and column.auto is None and column.default is None


def _sample(table: Table, name: str) -> Any:
    column = table.columns[name]
    if column.type == "string" and "email" in name and not column.enum:
        return EMAIL
    field = as_field(Field.model_validate({"like": f"table.{name}"}), {"table": table})
    return sample_of(field_schema(field)) if field.like is None else NOTHING
