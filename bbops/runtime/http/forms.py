"""Read forms: pairs of names and texts, as in a query string, and bodies of several parts."""

from __future__ import annotations

import re
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, unquote

from multipart import (
    MultipartError,
    MultipartSegment,
    ParserLimitReached,
    PushMultipartParser,
    parse_content_disposition,
)

from bbops.runtime.values.failures import InvalidInput

URL_ENCODED: Final = "application/x-www-form-urlencoded"
MULTIPART: Final = "multipart/form-data"
MAX_FIELDS: Final = 1_000
"""Of a query or a form, files included."""
_MAX_HEADER_BYTES: Final = 4 << 10
_MAX_BOUNDARY: Final = 70  # RFC 2046 section 5.1.1

_CHARSETS: Final = {
    "utf-8": "utf-8", "utf8": "utf-8", "us-ascii": "utf-8", "ascii": "utf-8",
    "iso-8859-1": "cp1252", "latin1": "cp1252", "latin-1": "cp1252", "windows-1252": "cp1252",
}  # fmt: skip
"""Codecs by the charset names that clients send; ISO-8859-1 is Windows-1252, as in browsers."""

_QUOTED: Final = re.compile(r'"(?:\\.|[^"\\])*"')
_EXTENDED: Final = re.compile(
    r";\s*filename\*\s*=\s*([A-Za-z0-9._-]{1,40})'[A-Za-z0-9-]{0,40}'([^\s;,\"]+)", re.IGNORECASE
).search

Texts = dict[str, list[str]]


class Part(NamedTuple):
    """A part of a form: a text where `filename` is None."""

    name: str
    filename: str | None
    charset: str


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
            part, text = Part("", "", "utf-8"), bytearray()
            for event in parser.parse(body):
                if isinstance(event, MultipartSegment):
                    part, text = read_part(event), bytearray()
                elif event is not None:
                    text += event
                elif part.filename is None:
                    found.setdefault(part.name, []).append(text.decode(part.charset))
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
        boundary, max_header_size=_MAX_HEADER_BYTES, max_segment_count=MAX_FIELDS, strict=True,
        header_charset="latin-1",  # each byte as it came; see `read_part`
    )  # fmt: skip


def read_part(segment: MultipartSegment) -> Part:
    """Return the names of a part as common clients write them, and the charset of its text.

    Names are UTF-8, else Windows-1252; `filename*` comes before `filename`, and encoded words are
    decoded.

    Raises:
        InvalidInput: a text is in a charset that is not read here. Files are bytes in any charset.
    """
    name, filename = segment.name or "", segment.filename
    header = segment.header("Content-Disposition", "")
    if not header.isascii():
        _, own_name, filename = parse_content_disposition(_decode_name(header.encode("latin-1")))
        name = own_name or ""
    if "*" in header:
        filename = _extended_name(header) or filename
    if filename is not None and "=?" in filename:
        filename = _decode_words(filename)
    charset = "utf-8"
    if filename is None and segment.charset:
        charset = _CHARSETS.get(segment.charset.lower(), "")
        if not charset:
            given = segment.charset[:40]
            message = f"the charset '{given}' of a text of the form is not read, expected UTF-8"
            raise InvalidInput({}, message)
    return Part(name, filename, charset)


def _decode_name(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def _extended_name(header: str) -> str | None:
    """Return the file name of a header's `filename*` (RFC 8187); None if missing or unreadable."""
    found = _EXTENDED(_QUOTED.sub('""', header))
    charset = _CHARSETS.get(found[1].lower()) if found else None
    if found is None or charset is None:
        return None
    try:
        return unquote(found[2], charset, "strict")
    except ValueError:
        return None


def _decode_words(name: str) -> str:
    """Return a name with its encoded words decoded (RFC 2047), as mail programs send them."""
    try:
        return str(make_header(decode_header(name)))
    except (HeaderParseError, LookupError, ValueError):
        return name


def unreadable(error: Exception) -> InvalidInput:
    """Return what a client hears of a form that cannot be read."""
    if isinstance(error, ParserLimitReached):
        return InvalidInput({}, f"the form has more than {MAX_FIELDS:,} parts, or too long headers")
    return InvalidInput({}, "the form cannot be parsed: its parts do not match its boundary")
