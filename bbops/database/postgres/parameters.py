"""Convert parameters of an author's own statement to the types that the server reports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, Final

import asyncpg
import msgspec


def fit(values: Sequence[object], types: Iterable[asyncpg.Type]) -> list[object]:
    """Return the values in asyncpg's types; asyncpg itself refuses a value that does not fit.

    A list is converted to an array; it arrives as JSON, like every list in such a parameter.
    """
    return [
        value if value is None else _fitted(value, of.name)
        for value, of in zip(values, types, strict=True)
    ] if values else []  # fmt: skip


def _fitted(value: object, of: str) -> object:
    with suppress(ValueError, TypeError, InvalidOperation, OverflowError):
        if of.endswith("[]"):
            items: Any = msgspec.json.decode(value) if isinstance(value, str) else value
            return [item if item is None else _fitted(item, of[:-2]) for item in items]
        return _FIT[of](value) if of in _FIT else value
    return value


def _integer(value: Any) -> int:
    found = int(value)
    if found != value and not isinstance(value, str):
        raise ValueError
    return found


def _boolean(value: Any) -> Any:
    return bool(value) if value in (0, 1) else value


def _text(value: Any) -> Any:
    return value if isinstance(value, str | bytes) else str(value)


def _moment(value: Any) -> datetime:
    found = datetime.fromisoformat(value) if isinstance(value, str) else value
    aware: datetime = found if found.tzinfo else found.replace(tzinfo=UTC)
    return aware


def _naive(value: Any) -> datetime:
    return _moment(value).astimezone(UTC).replace(tzinfo=None)


def _day(value: Any) -> date:
    if isinstance(value, datetime):
        return value.astimezone(UTC).date()
    return date.fromisoformat(value) if isinstance(value, str) else value


_FIT: Final[dict[str, Callable[[Any], Any]]] = {
    **dict.fromkeys(("int2", "int4", "int8", "oid"), _integer),
    **dict.fromkeys(("float4", "float8"), float),
    **dict.fromkeys(("text", "varchar", "bpchar", "name", "json", "jsonb"), _text),
    "numeric": lambda value: Decimal(str(value)), "bool": _boolean, "timestamptz": _moment,
    "timestamp": _naive, "date": _day,
}  # fmt: skip
