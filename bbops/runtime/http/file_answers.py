"""Answers with a file of the run: the file, a range of it, or 304.

Source: RFC 9110, sections 8.8.3, 13.1.2 and 14.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from mimetypes import MimeTypes
from typing import Any, Final

from bbops.base.doors import Folder
from bbops.runtime.flow.run import Answer
from bbops.runtime.http.headers import Headers, find_header, is_known
from bbops.runtime.http.responses import BODYLESS, Answering
from bbops.runtime.values.failures import FlowError, WrongKind
from bbops.runtime.values.file_types import HEAD_BYTES, UNKNOWN, content_type, is_run_by_browsers
from bbops.runtime.values.operators import kind

SENDING_SECONDS: Final = 300.0
"""How much longer than its `timeout` a request may take while a file goes out."""
MOST_TAGGED_BYTES: Final = 1 << 20
"""A file that is no longer has an `etag` of what it holds; a longer one has what its function sets,
for it would be read twice."""
_PIECE_BYTES: Final = 256 << 10
_names: Final = MimeTypes()  # the same everywhere: without the lists of the machine


Read = Callable[[int, int], Awaitable[bytes]]


@dataclass(frozen=True, slots=True)
class SentFile:
    """A file that is the value of an answer: of a run's folder, or one that is kept.

    Attributes:
        read: returns a part of it, from a byte on, of at most so many.
        tag: what an `etag` is made of, where the file is known by more than its content.
    """

    read: Read
    size_bytes: int
    type: str
    tag: str = ""


async def find_file(folder: Folder | None, path: Any, declared: str | None) -> SentFile:
    """Return a file as an answer takes it.

    Args:
        folder: of the run; None in a function that is called.
        declared: its content type, None to find it out.

    Raises:
        FlowError: there is no such file in the folder.
    """
    if type(path) is not str:
        raise WrongKind(f"'file' needs a text, got {kind(path)}")
    if folder is None:
        raise FlowError("'file' only works in a request, and this run has none")
    size = await folder.size(path)
    if size is None:
        raise FlowError("this run has no such file")
    read = partial(folder.read, path)
    return SentFile(read, size, declared or await find_type(path, read))


async def find_type(path: str, read: Read) -> str:
    """Return the type by name and content; never one whose content a browser would run."""
    named, packed = _names.guess_type(path)
    found = content_type(await read(0, HEAD_BYTES), "" if packed else named or "")
    return UNKNOWN if is_run_by_browsers(found) else found


async def send_file(answering: Answering, send: Any, scope: Any, answer: Answer) -> None:
    """Send an answer whose value is a SentFile; it is read in pieces.

    Raises:
        Failure: status or headers cannot be sent.
        OSError: the file is gone.
    """
    file: SentFile = answer[1]
    status, _, headers = answering.render((answer[0], b"", answer[2], file.type))
    part = Range(0, file.size_bytes - 1)
    if status == 200 and scope["method"] in {"GET", "HEAD"}:
        status, headers, part = await _choose(scope, file, headers)
    if status in BODYLESS or part.is_beyond:
        await answering.send(send, scope, status, b"", headers)
    else:
        await _stream(answering, send, scope, status, headers, file, part)


async def _choose(scope: Any, file: SentFile, headers: Headers) -> tuple[int, Headers, Range]:
    """Return what a client wants of a file: status, headers, and the part."""
    size, tag = file.size_bytes, find_header(headers, b"etag")
    if not tag and (file.tag or size <= MOST_TAGGED_BYTES):
        known = file.tag or sha256(await file.read(0, size)).hexdigest()[:24]
        tag = b'"%b"' % known.encode()
        headers = [*headers, (b"etag", tag)]
    headers, every = [*headers, (b"accept-ranges", b"bytes")], Range(0, size - 1)
    if tag and is_known(scope, tag):
        return 304, [one for one in headers if one[0] != b"content-type"], every
    part = read_range(dict(scope["headers"]), size, tag) if scope["method"] == "GET" else None
    if part is None:
        return 200, headers, every
    if part.is_beyond:
        return 416, [*headers, (b"content-range", b"bytes */%d" % size)], part
    said = b"bytes %d-%d/%d" % (part.first, part.last, size)
    return 206, [*headers, (b"content-range", said)], part


async def _stream(
    answering: Answering, send: Any, scope: Any, status: int, headers: Headers, file: SentFile,
    part: Range,
) -> None:  # fmt: skip
    trace = scope["bbops"]
    length = (b"content-length", b"%d" % part.size_bytes)
    every = [*answering.dress(trace, headers), length]
    trace.is_sent = True
    await send({"type": "http.response.start", "status": status, "headers": every})
    if scope["method"] != "HEAD":
        async for piece in _pieces(file, part):
            await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})
    if answering.history is not None:
        answering.remember(scope, trace, status, part.size_bytes)


async def _pieces(file: SentFile, part: Range) -> AsyncIterator[bytes]:
    at, end = part.first, part.last + 1
    while at < end:
        piece = await file.read(at, min(_PIECE_BYTES, end - at))
        if not piece:
            raise FileNotFoundError("a file became shorter while it was sent")
        at += len(piece)
        yield piece


_ONE: Final = re.compile(rb"bytes=([0-9]{0,18})-([0-9]{0,18})").fullmatch


@dataclass(frozen=True, slots=True)
class Range:
    """From `first` to `last`, both included; one that begins behind the end `is_beyond` it."""

    first: int
    last: int
    is_beyond: bool = False

    @property
    def size_bytes(self) -> int:
        """How many bytes that are."""
        return self.last - self.first + 1


def read_range(headers: Mapping[bytes, bytes], size: int, etag: bytes) -> Range | None:
    """Return what `range` asks for; None for all of it: several ranges are answered with that."""
    found = _ONE(headers.get(b"range", b"").replace(b" ", b""))
    if found is None or headers.get(b"if-range", etag) != etag:
        return None
    first, last = found[1], found[2]
    if not first:
        wanted = int(last or 0)
        return Range(max(0, size - wanted), size - 1, is_beyond=not wanted or not size)
    begin, end = int(first), min(int(last), size - 1) if last else size - 1
    if last and int(last) < begin:
        return None
    return Range(begin, end, is_beyond=begin >= size)
