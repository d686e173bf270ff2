"""Read forms: pairs of names and texts, as in a query string, and bodies of several parts."""

from __future__ import annotations

from typing import Final
from urllib.parse import parse_qsl

from multipart import MultipartError, MultipartSegment, ParserLimitReached, PushMultipartParser

from bbops.runtime.values.failures import InvalidInput

URL_ENCODED: Final = "application/x-www-form-urlencoded"
MULTIPART: Final = "multipart/form-data"
MAX_FIELDS: Final = 1_000
"""Of a query or a form, files included."""
_MAX_HEADER_BYTES: Final = 4 << 10
_MAX_BOUNDARY: Final = 70  # RFC 2046 section 5.1.1

Texts = dict[str, list[str]]


def read_pairs(raw: bytes, what: str) -> Texts:
    """Return the texts of `a=1&b=2` by their names, in their order.

    Raises:
        InvalidInput: they are not in UTF-8, or too many; `what` is how the message calls them.
    """
    found: Texts = {}
    try:
        pairs = parse_qsl(
            raw.decode("ascii"), keep_blank_values=True, max_num_fields=MAX_FIELDS, errors="strict"
        )
    except ValueError:
        raise InvalidInput({}, f"{what} cannot be read") from None
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return found


def read_multipart(body: bytes, boundary: str) -> Texts:
    """Return the texts of a whole body by their names; files among them are dropped.

    Raises:
        InvalidInput: it is not what it should be.
    """
    found: Texts = {}
    try:
        with open_parts(boundary) as parser:
            name, is_text, text = "", False, bytearray()
            for event in parser.parse(body):
                if isinstance(event, MultipartSegment):
                    name, is_text, text = event.name, event.filename is None, bytearray()
                elif event is not None:
                    text += event
                elif is_text:
                    found.setdefault(name, []).append(text.decode())
    except (MultipartError, UnicodeDecodeError) as error:
        raise unreadable(error) from None
    return found


def open_parts(boundary: str) -> PushMultipartParser:
    """Return what reads a body of several parts as it comes.

    Raises:
        MultipartError: there is no such boundary.
    """
    if len(boundary) > _MAX_BOUNDARY:
        raise MultipartError("the boundary is longer than 70 characters")
    return PushMultipartParser(
        boundary, max_header_size=_MAX_HEADER_BYTES, max_segment_count=MAX_FIELDS, strict=True
    )


def unreadable(error: Exception) -> InvalidInput:
    """Return what a client hears of a form that cannot be read."""
    if isinstance(error, ParserLimitReached):
        return InvalidInput({}, f"the form has more than {MAX_FIELDS:,} parts, or too long headers")
    return InvalidInput({}, "the form cannot be parsed: its parts do not match its boundary")
