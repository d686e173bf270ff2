"""Turn a value of a YAML file into its column's stored form, and into an SQL literal."""

from __future__ import annotations

from typing import Any

from bbops.runtime.data.rows import ENCODERS, stored_datetime
from bbops.runtime.values.failures import FlowError

__all__ = ["Stored", "encode", "literal", "stamp", "stored_datetime"]

Stored = str | int | float | bytes | None


def stamp(column_type: str, now: str) -> str:
    """Return a stored datetime in the form of a `created` or `updated` column of that type."""
    return now[:10] if column_type == "date" else now


def encode(column_type: str, value: Any) -> Stored:
    """Return `value` in the stored form of that type; null stays null.

    Raises:
        ValueError: it is not a value of that type. The message has the type, not the value.
    """
    try:
        stored: Stored = ENCODERS[column_type](value, "")
    except FlowError:
        raise ValueError(f"expected a value of type {column_type}") from None
    return stored


def literal(stored: Stored) -> str:
    """Return an SQL literal for a stored value."""
    if stored is None:
        return "NULL"
    if isinstance(stored, str):
        return "'" + stored.replace("'", "''") + "'"
    return f"X'{stored.hex()}'" if isinstance(stored, bytes) else repr(stored)
