"""Rows of an author's own statement whose columns have types, on both databases."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, Final

import msgspec

from bbops.runtime.values.failures import FlowError
from bbops.runtime.values.formats import parse_time, parse_uuid
from bbops.runtime.values.operators import kind

_decode_json = msgspec.json.Decoder().decode


class OwnColumns:
    """Reads rows by the types of their columns; made once per release."""

    __slots__ = ("columns",)

    def __init__(self, types: Mapping[str, str]) -> None:
        """Args: `types` are those of columns by name, with `?` where there may be null."""
        self.columns = [_Column(name, of) for name, of in types.items()]

    def __call__(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return rows that have these columns only.

        Raises:
            FlowError: one is missing, null, or of another type.
        """
        return [self._read(row) for row in rows]

    def _read(self, row: dict[str, Any]) -> dict[str, Any]:
        if len(row) != len(self.columns) or any(one.name not in row for one in self.columns):
            said = ", ".join(one.name for one in self.columns)
            raise FlowError(f"the statement gives {', '.join(row)}, and 'columns' says {said}")
        return {one.name: one.value(row[one.name]) for one in self.columns}


class _Column:
    """One column: its name, and what its values become."""

    __slots__ = ("can_be_null", "name", "of", "read")

    def __init__(self, name: str, of: str) -> None:
        self.name, self.of, self.can_be_null = name, of.removesuffix("?"), of.endswith("?")
        self.read = _READERS[self.of]

    def value(self, value: Any) -> Any:
        name, of = self.name, self.of
        if value is None:
            if self.can_be_null:
                return None
            message = f"column '{name}' of the statement is null, expected {of}; write '{of}?'"
            raise FlowError(message)
        try:
            return self.read(value)
        except (ValueError, TypeError, ArithmeticError, msgspec.MsgspecError):
            found = kind(value)
            raise FlowError(f"column '{name}' of the statement is {found}, expected {of}") from None


def _text(value: Any) -> str:
    if type(value) is not str:
        raise TypeError
    return value


def _formed(parse: Callable[[str], str | None]) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        found = parse(_text(value))
        if found is None:
            raise ValueError
        return found

    return read


def _integer(value: Any) -> int:
    found = int(value)
    if type(value) not in {int, float, Decimal} or found != value or abs(found) >= 2**63:
        raise ValueError
    return found


def _number(value: Any) -> float:
    if type(value) not in {int, float, Decimal}:
        raise TypeError
    return float(value)


def _decimal(value: Any) -> Decimal:
    if type(value) is bool:
        raise TypeError
    try:
        found = Decimal(str(value))
    except InvalidOperation:
        raise ValueError from None
    if not found.is_finite():
        raise ValueError
    return found


def _boolean(value: Any) -> bool:
    if type(value) is not bool and value not in (0, 1):
        raise ValueError
    return bool(value)


def _datetime(value: Any) -> datetime:
    found = datetime.fromisoformat(value) if type(value) is str else value
    if type(found) is not datetime:
        raise TypeError
    return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)


def _date(value: Any) -> date:
    found = date.fromisoformat(value) if type(value) is str else value
    if type(found) is not date:
        raise TypeError
    return found


def _json(value: Any) -> Any:
    return _decode_json(value) if type(value) in {str, bytes} else value


def _binary(value: Any) -> bytes:
    if type(value) is not bytes:
        raise TypeError
    return value


_READERS: Final[dict[str, Callable[[Any], Any]]] = {
    "string": _text, "text": _text, "uuid": _formed(parse_uuid), "time": _formed(parse_time),
    "integer": _integer, "bigint": _integer, "number": _number, "decimal": _decimal,
    "boolean": _boolean, "datetime": _datetime, "date": _date, "json": _json, "binary": _binary,
}  # fmt: skip
