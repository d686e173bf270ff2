"""Text functions for SQLite that cost the sum of two lengths instead of the product.

Each returns the same as SQLite's own function, for any values.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any, Final

from bbops.database.schema.literals import Stored
from bbops.database.sqlite.limits import LONGEST_VALUE_BYTES

_MOST_TRIMMED: Final = 100
_MOST_PATCHED: Final = 100_000
"""json_patch compares every key with every other: 1 s for two of these bytes."""


def bound_functions(connection: sqlite3.Connection) -> None:
    """Replace the functions of SQLite whose cost grows with the product of two lengths.

    SQLite's own json_patch runs in a database in memory, which closes with the connection.
    """
    beside: list[sqlite3.Connection] = getattr(connection, "beside", [])

    def patch(one: Stored, other: Stored) -> Any:
        if max(len(str(one)), len(str(other))) > _MOST_PATCHED:
            raise ValueError
        if not beside:
            beside.append(sqlite3.connect(":memory:", check_same_thread=False))
        return beside[0].execute("SELECT json_patch(?, ?)", (one, other)).fetchone()[0]

    connection.create_function("json_patch", 2, patch, deterministic=True)
    connection.create_function("instr", 2, find_text, deterministic=True)
    connection.create_function("replace", 3, replace_text, deterministic=True)
    for name, strip in (("trim", str.strip), ("ltrim", str.lstrip), ("rtrim", str.rstrip)):
        connection.create_function(name, 2, _trimming(strip), deterministic=True)


def find_text(within: Stored, wanted: Stored) -> int | None:
    """`instr`: the position of one text in another from 1 on, 0 if it is missing."""
    if within is None or wanted is None:
        return None
    if isinstance(within, bytes) and isinstance(wanted, bytes):
        return within.find(wanted) + 1
    return _text(within).find(_text(wanted)) + 1


def replace_text(within: Stored, old: Stored, new: Stored) -> str | None:
    """`replace`: an empty text is found nowhere."""
    if within is None or old is None or new is None:
        return None
    text, before, after = _text(within), _text(old), _text(new)
    if not before:
        return text
    if len(text) + text.count(before) * (len(after) - len(before)) > LONGEST_VALUE_BYTES:
        raise OverflowError  # SQLite reports that it is too big
    return text.replace(before, after)


def _trimming(strip: Callable[[str, str], str]) -> Callable[[Stored, Stored], str | None]:
    def trim(value: Stored, characters: Stored) -> str | None:
        if value is None or characters is None:
            return None
        each = "".join(set(_text(characters)))
        if len(each) > _MOST_TRIMMED:
            raise ValueError
        return strip(_text(value), each) if each else _text(value)

    return trim


def _text(value: Stored) -> str:
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, float):
        digits = f"{value:.15g}"
        return digits if set(digits) & set(".en") else f"{digits}.0"
    return str(value)
