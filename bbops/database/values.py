"""Turn a value of a YAML file into what its column stores, and into an SQL literal."""

from __future__ import annotations

import base64
import datetime as dt
import json
import uuid
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final

Stored = str | int | float | bytes | None


def stored_datetime(moment: dt.datetime) -> str:
    """Return `YYYY-MM-DDTHH:MM:SS.ffffffZ`, as wide for every moment, so text order is time order.

    A moment without an offset is UTC.
    """
    if moment.tzinfo is not None:
        moment = moment.astimezone(dt.UTC).replace(tzinfo=None)
    return moment.isoformat(timespec="microseconds") + "Z"


def stamp(column_type: str, now: str) -> str:
    """Return a stored datetime as a `created` or `updated` column of that type keeps it."""
    return now[:10] if column_type == "date" else now


def encode(column_type: str, value: Any) -> Stored:
    """Return `value` as a column of that type stores it; null stays null.

    Raises:
        ValueError: it is no value of that type. The message holds the type, not the value.
    """
    if value is None:
        return None
    try:
        return _ENCODERS[column_type](value)
    except (ValueError, TypeError, ArithmeticError, AttributeError):
        raise ValueError(f"expected a value of type {column_type}") from None


def literal(stored: Stored) -> str:
    """Return an SQL literal for a stored value."""
    if stored is None:
        return "NULL"
    if isinstance(stored, str):
        return "'" + stored.replace("'", "''") + "'"
    return f"X'{stored.hex()}'" if isinstance(stored, bytes) else repr(stored)


def _of_type(value: Any, *kinds: type) -> Any:
    if type(value) not in kinds:
        raise TypeError
    return value


def _encode_decimal(value: Any) -> str:
    number = Decimal(str(_of_type(value, str, int, float, Decimal)))
    if not number.is_finite():
        raise ValueError
    return format(number, "f")


def _encode_integer(value: Any) -> int:
    number = int(_of_type(value, int))
    if not -(2**63) <= number < 2**63:
        raise ValueError
    return number


def _encode_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _text(value: Any) -> str:
    return str(_of_type(value, str))


_ENCODERS: Final[Mapping[str, Callable[[Any], Stored]]] = {
    "string": _text,
    "text": _text,
    "integer": _encode_integer,
    "bigint": _encode_integer,
    "number": lambda value: float(_of_type(value, int, float)),
    "decimal": _encode_decimal,
    "boolean": lambda value: int(_of_type(value, bool)),
    "datetime": lambda value: stored_datetime(dt.datetime.fromisoformat(value)),
    "date": lambda value: dt.date.fromisoformat(value).isoformat(),
    "time": lambda value: dt.time.fromisoformat(value).isoformat(),
    "uuid": lambda value: str(uuid.UUID(value)),
    "json": _encode_json,
    "binary": lambda value: base64.b64decode(value, validate=True),
}
