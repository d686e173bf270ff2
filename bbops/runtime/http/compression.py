"""Send less: nothing to a client that has the answer already, and gzip to one that unpacks it.

Both begin where an answer no longer fits one packet: below it they would cost more than they save.
Packed is only what was asked for so, and no answer that sets a cookie: the size of what is packed
tells of what is in it, and whoever can have a part of it repeated guesses the rest.

Source: RFC 9110 sections 8.8.3, 12.5.3 and 13.1.2.
"""

from __future__ import annotations

import asyncio
import zlib
from hashlib import sha256
from typing import Any, Final

from bbops.runtime.http.headers import Headers, find_header, has_header

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
    for one in header.decode("latin-1").lower().split(",") if header else ():
        name, _, weight = one.partition(";")
        weights[name.strip()] = weight.strip().rstrip("0.") != "q="
    return weights.get("gzip", weights.get("*", False))
