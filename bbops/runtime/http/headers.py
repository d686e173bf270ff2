"""Headers: which a function may set, how HTTP/1.1 writes them, and cookies that are not its own."""

from __future__ import annotations

import re
from typing import Any

from multipart import parse_options_header

from bbops.base.header_values import encode_value, find_fault
from bbops.runtime.values.failures import BadValue, Failure, WrongKind
from bbops.runtime.values.operators import text

Headers = list[tuple[bytes, bytes]]
"""Names in lower case, and values."""

_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}").fullmatch
_OURS = frozenset({
    "connection", "content-length", "content-type", "transfer-encoding", "x-release",
    "x-request-id",
})  # fmt: skip
_CONTROL_COOKIE = re.compile(r"\s*(?:__Host-)?bbops(?:-[a-z]+)?\s*=", re.IGNORECASE).match
"""Of the control plane: a browser sends them here, too, for cookies know no ports."""


def write(headers: Headers) -> bytes:
    """Return headers as lines.

    Raises:
        Failure: one of them holds a line break, and would become two.
    """
    lines = b"".join([b"%b: %b\r\n" % one for one in headers])
    if lines.count(b"\n") != len(headers):
        raise Failure("a header holds a line break")
    return lines


def read_lines(lines: bytes) -> Headers:
    """Return the headers of lines that were written here."""
    parted = (line.partition(b": ") for line in lines.split(b"\r\n")[:-1])
    return [(name, value) for name, _, value in parted]


def read_media_type(value: bytes) -> tuple[str, dict[str, str]]:
    """Return what a `content-type` says, in lower case, and its parameters."""
    kind, options = parse_options_header(value.decode("latin-1"))
    return kind, options


def has_header(headers: Headers, name: bytes) -> bool:
    """Return whether one of the headers has this name."""
    return any(name == other for other, _ in headers)


def find_header(headers: Headers, name: bytes) -> bytes:
    """Return the value of the first header of this name; empty without one."""
    return next((value for other, value in headers if name == other), b"")


def can_set(header: str) -> bool:
    """Return whether a function may set a header: it is a name, and not one of the server's."""
    return _HEADER(header) is not None and header.lower() not in _OURS


def hide_cookies(header: str) -> str:
    """Return a `cookie` header without the cookies of the control plane: nobody's but its own."""
    if "bbops" not in header.lower():
        return header
    return ";".join(one for one in header.split(";") if not _CONTROL_COOKIE(one)).strip()


def set_headers(headers: Any) -> Headers:
    """Return the headers that a function gives its answer.

    Raises:
        Failure: one of them cannot be set.
    """
    out: Headers = []
    if not headers:
        return out
    if not isinstance(headers, dict):
        raise WrongKind("'headers' needs a map of texts")
    for name, value in headers.items():
        lower = name.lower()
        whole = text(value)
        if not can_set(name):
            raise BadValue(f"header '{name[:60]}' cannot be set")
        if fault := find_fault(whole):
            raise BadValue(f"header '{name[:60]}' {fault}")
        if lower == "set-cookie" and _CONTROL_COOKIE(whole):
            raise BadValue("a cookie of the control plane cannot be set")
        out.append((lower.encode(), encode_value(whole)))
    return out
