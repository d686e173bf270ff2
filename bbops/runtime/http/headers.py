"""Headers, cookies and compression of responses."""

from __future__ import annotations

import asyncio
import re
import zlib
from hashlib import sha256
from typing import Any, Final

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


# ---- Send less: nothing to a client that has the answer already, and gzip to one that unpacks it
# Both begin where an answer no longer fits one packet: below it they would cost more than they
# save. Packed is only what was asked for so, and no answer that sets a cookie: the size of what is
# packed tells of what is in it, and whoever can have a part of it repeated guesses the rest.
# Source: RFC 9110 sections 8.8.3, 12.5.3 and 13.1.2.

SMALL_BYTES: Final = 1_400
_OFF_LOOP_BYTES: Final = 64 << 10
"""More than this takes longer than 0.2 ms, and so a thread."""
_LEVEL: Final = 3  # of 4 and more each step costs a third more, and saves a twentieth
_GZIP: Final = 16 + zlib.MAX_WBITS
_TEXTS: Final = ("text/", "application/json", "application/xml", "application/javascript")
_VARY: Final = (b"vary", b"accept-encoding")

Parts = tuple[int, bytes, Headers]
"""Status, body and headers of an answer."""


async def spare(scope: Any, status: int, body: bytes, headers: Headers) -> Parts:
    """Return an answer that is no longer than its client needs."""
    if len(body) > _OFF_LOOP_BYTES:
        return await asyncio.to_thread(_spare, scope, status, body, headers)
    return _spare(scope, status, body, headers)


def _spare(scope: Any, status: int, body: bytes, headers: Headers) -> Parts:
    if status == 200 and scope["method"] in {"GET", "HEAD"}:
        tag = find_header(headers, b"etag")
        if not tag:
            # weak: packed and plain are the same to who asks
            tag = b'W/"%b"' % sha256(body).hexdigest()[:24].encode()
            headers = [*headers, (b"etag", tag)]
        if is_known(scope, tag):
            kept = [one for one in headers if one[0] != b"content-type"]
            return 304, b"", [*kept, _VARY] if _may_pack(headers) else kept
    if not _may_pack(headers):
        return status, body, headers
    if not _accepts_gzip(find_header(scope["headers"], b"accept-encoding")):
        return status, body, [*headers, _VARY]
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
    packed = packer.compress(body) + packer.flush()
    return status, packed, [*headers, _VARY, (b"content-encoding", b"gzip")]


def is_known(scope: Any, tag: bytes) -> bool:
    """Return whether the client says that it has this already; W/ makes no difference here."""
    given = [value for name, value in scope["headers"] if name == b"if-none-match"]
    plain = tag.removeprefix(b"W/")
    known = [one.strip() for value in given for one in value.split(b",")]
    return b"*" in known or plain in [one.removeprefix(b"W/") for one in known]


def _may_pack(headers: Headers) -> bool:
    if has_header(headers, b"content-encoding") or has_header(headers, b"set-cookie"):
        return False
    if b"no-transform" in find_header(headers, b"cache-control").lower():
        return False
    kind = find_header(headers, b"content-type").decode("latin-1").partition(";")[0].lower()
    return kind.startswith(_TEXTS) or kind.endswith(("+json", "+xml"))


def _accepts_gzip(header: bytes) -> bool:
    """Return whether `accept-encoding` lists gzip, or anything, with a weight above 0."""
    weights: dict[str, bool] = {}
    for coding in header.decode("latin-1").lower().split(",") if header else ():
        name, _, weight = coding.partition(";")
        weights[name.strip()] = weight.strip().rstrip("0.") != "q="
    return weights.get("gzip", weights.get("*", False))
