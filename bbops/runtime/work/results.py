"""How the results of steps are kept: what comes back is of the types that went in."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, Final

from msgspec import msgpack

from bbops.runtime.values.failures import FlowError

MOST_BYTES: Final = 1 << 20
"""Of the result of a step that is recorded."""

_PACKED_FROM_BYTES: Final = 16 << 10
_DECIMAL, _DATE, _TIME = 1, 2, 3
_READ: Final[Mapping[int, Callable[[str], Any]]] = {
    _DECIMAL: Decimal,
    _DATE: date.fromisoformat,
    _TIME: time.fromisoformat,
}


def pack(value: Any) -> bytes:
    """Return a value as bytes.

    Raises:
        FlowError: it is larger than MOST_BYTES.
    """
    data = msgpack.encode(_told(value))
    if len(data) > MOST_BYTES:
        raise FlowError(f"the result of a step in a job is larger than {MOST_BYTES:,} bytes")
    return b"z" + zlib.compress(data, 1) if len(data) > _PACKED_FROM_BYTES else b"m" + data


def unpack(data: bytes) -> Any:
    """Return the value that was packed."""
    packed = zlib.decompress(data[1:]) if data[:1] == b"z" else data[1:]
    return msgpack.decode(packed, ext_hook=lambda code, text: _READ[code](bytes(text).decode()))


def rows_of(value: Any) -> list[list[tuple[Any, ...]]]:
    """Return the rows of several statements that were packed."""
    return [[tuple(row) for row in rows] for rows in value]


def _told(value: Any) -> Any:
    """Return a value whose types survive: texts of numbers and days are marked."""
    if isinstance(value, dict):
        return {key: _told(one) for key, one in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_told(one) for one in value]
    if isinstance(value, Decimal):
        return msgpack.Ext(_DECIMAL, str(value).encode())
    if isinstance(value, date) and not isinstance(value, datetime):
        return msgpack.Ext(_DATE, value.isoformat().encode())
    if isinstance(value, time):
        return msgpack.Ext(_TIME, value.isoformat().encode())
    return value
