"""A value that is typed or piped into a command: how it is decoded, and what is odd about it."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterator
from typing import Final

from bbops.base.errors import ServerError

_BOM: Final = "\ufeff"
_LINE_CHARACTERS: Final = frozenset("\t\n")
_INVISIBLE: Final = frozenset(("Cc", "Cf", "Zl", "Zp", "Zs"))
_SHOWN: Final = 5
"""How many characters are reported; more say no more."""

_UTF8_HINT: Final = "convert it to UTF-8, for example: iconv -f ISO-8859-1 -t UTF-8 FILE"
_UTF16_HINT: Final = "convert it to UTF-8: iconv -f UTF-16 -t UTF-8 FILE"
_BOM_HINT: Final = "remove the three bytes of the mark: tail -c +4 FILE"


def read_piped(most_bytes: int = -1) -> str:
    """Return the whole of a pipe without its final line break, LF or CRLF.

    Raises:
        ServerError: it is not UTF-8, or begins with a byte order mark.
    """
    data = sys.stdin.buffer.read(most_bytes)
    return decode(data.removesuffix(b"\r\n" if data.endswith(b"\r\n") else b"\n"))


def decode(data: bytes) -> str:
    """Return the text of a value. Raises: ServerError: as `read_piped`, without the value."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ServerError("the value is UTF-16, expected UTF-8", hint=_UTF16_HINT)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise ServerError(
            f"the value is not UTF-8: byte {error.start + 1} of {len(data)} does not belong there",
            hint=_UTF8_HINT,
        ) from None
    return require_text(text)


def require_text(text: str) -> str:
    """Return a value that has no part which no program can use.

    Raises:
        ServerError: it begins with a byte order mark, or holds a NUL or a byte that is not UTF-8.
    """
    if text.startswith(_BOM):
        raise ServerError("the value begins with a byte order mark (U+FEFF)", hint=_BOM_HINT)
    if "\0" in text:
        raise ServerError("the value contains a NUL character, as UTF-16 does", hint=_UTF16_HINT)
    if any(unicodedata.category(one) == "Cs" for one in text):
        raise ServerError("the value is not UTF-8", hint=_UTF8_HINT)
    return text


def find_oddities(text: str) -> Iterator[str]:
    """Yield warnings about a value that is kept as it is; they show no visible part of it."""
    if not text:
        yield "the value is empty"
        return
    odd = [index for index in range(len(text)) if _is_odd(text, index)]
    for index in odd[:_SHOWN]:
        yield f"character {index + 1} of {len(text)} is {_name(text[index])}"
    if len(odd) > _SHOWN:
        yield f"{len(odd) - _SHOWN} more characters are invisible"


def _is_odd(text: str, index: int) -> bool:
    """Return whether a character is invisible, and not a usual part of a value of many lines."""
    one = text[index]
    if unicodedata.category(one) not in _INVISIBLE:
        return False
    if index in {0, len(text) - 1}:
        return True
    is_line_break = one == "\r" and text[index + 1] == "\n"
    return not (one == " " or one in _LINE_CHARACTERS or is_line_break)


def _name(one: str) -> str:
    known = {"\n": "a line feed", "\r": "a carriage return", "\t": "a tab", " ": "a space"}
    return known.get(one) or f"U+{ord(one):04X} ({unicodedata.name(one, 'control character')})"
