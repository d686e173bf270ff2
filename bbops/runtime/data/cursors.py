"""Cursors of pages: the values of a row, short, fit for a URL, and signed for one list."""

from __future__ import annotations

import hmac
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from bbops.runtime.values.failures import FlowError, Thrown

KEY_VARIABLE: Final = "BBOPS_CURSOR_KEY"
"""The env variable with what cursors are signed with; a server makes its value once."""
MAX_CURSOR: Final = 4_000
"""Characters of a cursor."""
_MAC_BYTES: Final = 12

Value = int | float | str | list[str] | None
"""A value of a row as it is stored; a list holds the beginning of a text that was too long."""

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[Value]).decode


def write_cursor(key: bytes, context: bytes, values: Sequence[Value]) -> str:
    """Return a cursor that only this context takes.

    Raises:
        FlowError: it would be longer than MAX_CURSOR.
    """
    data = _encode(values)
    found = urlsafe_b64encode(_sign(key, context, data) + data).decode().rstrip("=")
    if len(found) > MAX_CURSOR:
        raise FlowError("the values that order the rows are too long for a cursor")
    return found


def read_cursor(key: bytes, context: bytes, cursor: Any) -> list[Value]:
    """Return the values in a cursor.

    Raises:
        Thrown: 400 `invalidCursor`; it was not made by `write_cursor` with this key and context.
    """
    if type(cursor) is str and len(cursor) <= MAX_CURSOR and cursor.isascii():
        try:
            data = b64decode(cursor + "=" * (-len(cursor) % 4), b"-_", validate=True)
        except ValueError:
            data = b""
        signature, data = data[:_MAC_BYTES], data[_MAC_BYTES:]
        if hmac.compare_digest(signature, _sign(key, context, data)):
            return _decode(data)
    raise Thrown(400, "the cursor does not belong to this list", code="invalidCursor")


def _sign(key: bytes, context: bytes, data: bytes) -> bytes:
    return hmac.digest(key, len(context).to_bytes(4) + context + data, "sha256")[:_MAC_BYTES]
