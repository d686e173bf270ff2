"""Name the fault of bytes that are not JSON, for the client that sent them."""

from __future__ import annotations

import re
from typing import Final

_ESCAPE: Final = re.compile(rb"\\(?:u([0-9a-fA-F]{4})|.)", re.DOTALL)
_MOST: Final = 120


def name_json_fault(body: bytes, error: Exception) -> str:
    """Return why a body is not JSON, such as "it is not UTF-8: byte 3 does not belong there".

    Args:
        body: what could not be decoded; O(its length).
        error: of the decoder, whose words stand for faults that are not known here.
    """
    if body.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "it is UTF-16, expected UTF-8"
    if body.startswith(b"\xef\xbb\xbf"):
        return "it begins with a byte order mark (U+FEFF)"
    try:
        body.decode()
    except UnicodeDecodeError as wrong:
        return f"it is not UTF-8: byte {wrong.start + 1} does not belong there"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if (at := _find_lone_surrogate(body)) is not None:
        escape = body[at : at + 6].decode()
        return (
            f"'{escape}' at byte {at + 1} is half of a character: a surrogate without its other"
            " half, as when a text is cut inside an emoji"
        )
    words = str(error)
    if "truncated" in words:
        return "it ends too early"
    if "out of range" in words:
        return "a number is out of range"
    return words.removeprefix("JSON is malformed: ")[:_MOST]


def _find_lone_surrogate(body: bytes) -> int | None:
    """Return where the first escape of half a character is; None without one."""
    high: int | None = None
    end = -1
    for found in _ESCAPE.finditer(body):
        unit = int(found[1], 16) if found[1] else 0
        is_low = 0xDC00 <= unit <= 0xDFFF
        is_pair = high is not None and is_low and found.start() == end
        if high is not None and not is_pair:
            return high
        if is_low and not is_pair:
            return found.start()
        high = found.start() if 0xD800 <= unit <= 0xDBFF else None
        end = found.end()
    return high
