"""Values of HTTP headers: their faults, and their bytes."""

from __future__ import annotations

import re
from typing import Final

MAX_CHARACTERS: Final = 8_000
"""The most characters of a value that a step sends to another server."""

_LINE_BREAK: Final = re.compile(r"[\r\n]").search
_CONTROL: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]").search
_SURROGATE: Final = re.compile(r"[\ud800-\udfff]").search


def find_fault(value: str, max_characters: int | None = None) -> str:
    """Return the fault of a value, such as "cannot contain a line break"; empty without one.

    Source: RFC 9110 section 5.5.
    """
    if _LINE_BREAK(value):
        return "cannot contain a line break"
    if _CONTROL(value):
        return "cannot contain a control character"
    if _SURROGATE(value):
        return "cannot contain an unpaired surrogate"
    if max_characters is not None and len(value) > max_characters:
        return f"cannot have more than {max_characters} characters"
    return ""


def encode_value(value: str) -> bytes:
    """Return the bytes of a value: Latin-1 if it has all the characters, otherwise UTF-8.

    Browsers, Node.js and `requests` send Latin-1, and refuse other characters; curl and Go send
    UTF-8. Both are opaque octets to a receiver (RFC 9110 section 5.5).
    """
    try:
        return value.encode("latin-1")
    except UnicodeEncodeError:
        return value.encode("utf-8", "surrogatepass")
