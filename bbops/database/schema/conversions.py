"""Stored values: from YAML, between column types, and as SQL literals.

One rule judges all pairs of types: a value that converts back unchanged has lost nothing.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Any, Final

import msgspec

from bbops.runtime.data.rows import ENCODERS, stored_datetime
from bbops.runtime.values.failures import FlowError

# ---- Turn a value of a YAML file into its column's stored form, and into an SQL literal

Stored = str | int | float | bytes | None


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


def stamp(column_type: str, now: str) -> str:
    """Return a stored datetime in the form of a `created` or `updated` column of that type."""
    return now[:10] if column_type == "date" else now


__all__ = ["Stored", "encode", "literal", "stamp", "stored_datetime"]


_BY_STORAGE: Final = {
    "INTEGER": "integer", "REAL": "number", "BLOB": "binary",
    "bigint": "integer", "double precision": "number", "bytea": "binary", "numeric": "decimal",
    "boolean": "boolean", "date": "date", "uuid": "uuid", "json": "json", "jsonb": "json",
    "integer": "integer", "smallint": "integer", "real": "number",
    "timestamp with time zone": "datetime", "timestamp without time zone": "datetime",
    "time without time zone": "time",
}  # fmt: skip
"""SQLite's types in capitals, PostgreSQL's without their lengths."""

_TEXTS: Final = frozenset({"string", "text"})

_SAME_STORAGE: Final = _TEXTS, {"integer", "bigint"}

_ANY_TEXT: Final = {"uuid", "date", "time", "datetime", "decimal", "json"}


def guess_type(storage_of: Callable[[str], str], storage: str, declared: str) -> str:
    """Return the unrecorded type of a live column: the declared one if it is possible."""
    if storage_of(declared) == storage:
        return declared
    return _BY_STORAGE.get(storage.partition("(")[0], "text")


def reads_as(old: str, new: str) -> bool:
    """Whether all stored values of one type are valid in the other, unchanged."""
    if old == new or any({old, new} <= same for same in _SAME_STORAGE):
        return True
    return old in _ANY_TEXT and new in _TEXTS


def convert(value: Stored, old: str, new: str) -> Stored:
    """Return the value in the stored form of a column of type `new`; null stays null.

    Raises:
        ValueError: there is no such value.
    """
    if value is None or reads_as(old, new):
        return value
    between = _BETWEEN.get((old, new))
    if between:
        return between(value)
    return _from_text(_to_text(value, old), new)


def is_kept(value: Stored, old: str, new: str) -> bool:
    """Whether a converted value would convert back unchanged."""
    try:
        back = convert(convert(value, old, new), new, old)
    except ValueError:
        return False
    if old == "decimal" and isinstance(value, str) and isinstance(back, str):
        return Decimal(value) == Decimal(back)
    return back == value


class Conversions(ABC):
    """Conversions as SQL of one database; `value` is always a quoted column."""

    @abstractmethod
    def converted(self, value: str, old: str, new: str) -> str:
        """Return SQL for `value` as the new type; null if it does not fit."""

    @abstractmethod
    def strictly(self, value: str, old: str, new: str) -> str:
        """Return SQL for `value` as the new type, which fails if it does not fit."""

    @abstractmethod
    def kept(self, value: str, old: str, new: str) -> str:
        """Return the SQL condition that a value can be converted, and back unchanged."""

    def misfit(self, value: str, old: str, new: str) -> str:
        """Return the SQL condition that a value cannot be converted."""
        return f"{value} IS NOT NULL AND {self.converted(value, old, new)} IS NULL"

    def loss(self, value: str, old: str, new: str) -> str:
        """Return the SQL condition that a value cannot be converted, or not back unchanged."""
        return f"{value} IS NOT NULL AND NOT {self.kept(value, old, new)}"


def convert_or_null(value: Stored, old: str, new: str) -> Stored:
    """Return the value as the new type; null if it does not fit."""
    try:
        return convert(value, old, new)
    except ValueError:
        return None


def _to_text(value: Any, old: str) -> str:
    if old == "boolean":
        return "true" if value else "false"
    if old == "binary" or isinstance(value, bytes):
        raise ValueError("bytes are not text")
    return repr(value) if isinstance(value, float) else str(value)


def _from_text(text: str, new: str) -> Stored:
    reader = _READERS.get(new)
    return reader(text) if reader else encode(new, text)


def _read_integer(text: str) -> Stored:
    try:
        found = Decimal(text)
    except InvalidOperation:
        raise ValueError("no number") from None
    if not found.is_finite() or abs(found.adjusted()) > 18 or found != int(found):
        raise ValueError("no whole number")
    return encode("integer", int(found))


def _read_number(text: str) -> Stored:
    found = float(text)
    if not math.isfinite(found):
        raise ValueError("no finite number")
    return found


def _read_boolean(text: str) -> Stored:
    known = {"true": 1, "false": 0, "1": 1, "0": 0}
    if text not in known:
        raise ValueError("neither true nor false")
    return known[text]


def _read_json(text: str) -> Stored:
    try:
        msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        raise ValueError("no JSON") from None
    return text


def _refuse_binary(_text: str) -> Stored:
    raise ValueError("text is not bytes")


_READERS: Final[dict[str, Callable[[str], Stored]]] = {
    "integer": _read_integer,
    "bigint": _read_integer,
    "number": _read_number,
    "boolean": _read_boolean,
    "json": _read_json,
    "binary": _refuse_binary,
}

_BETWEEN: Final[dict[tuple[str, str], Callable[[Any], Stored]]] = {
    ("boolean", "integer"): int,
    ("boolean", "bigint"): int,
    ("boolean", "number"): float,
    ("boolean", "decimal"): str,
    ("date", "datetime"): partial(encode, "datetime"),
    ("datetime", "date"): lambda value: str(value)[:10],
    ("datetime", "time"): lambda value: encode("time", str(value)[11:].removesuffix("Z")),
}
