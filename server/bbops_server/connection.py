"""One client's connection: what could be read in two ways is refused, and nobody is waited for.

uvicorn's protocol on llhttp, which is strict by itself; what it lets through is refused here, so
that a proxy in front and this server never see two different requests in the same bytes. Nothing
of it costs a request a timer: one sweeper looks at all connections about once a second.
"""

from __future__ import annotations

import asyncio
import fcntl
import resource
import struct
import sys
import termios
from contextlib import suppress
from enum import IntEnum
from typing import Final
from weakref import WeakKeyDictionary

import httptools
import msgspec
import uvicorn
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from bbops.runtime.flow import code_of
from bbops_server.wire import Corked, Corks

MAX_HEAD_BYTES: Final = 256 << 10
"""More than this never reaches an application; what is below it gets an answer from there."""

MAX_PIPELINED: Final = 1_024
"""Requests that may wait behind the one that is being answered."""

_MAX_UNREAD_BYTES: Final = 2 << 20  # of a body that comes after its request was answered
_FRAMING_PER_BYTE: Final = 16  # a chunk of one byte has five bytes around it
_FEWEST_FREE_DESCRIPTORS: Final = 64
_MOST_DESCRIPTORS: Final = 1 << 17
_MOST_DESCRIPTORS_OF_MACOS: Final = 10_240
_VERSIONS: Final = frozenset({"1.0", "1.1"})
_encode = msgspec.json.Encoder().encode
_corks: WeakKeyDictionary[uvicorn.Config, Corks] = WeakKeyDictionary()


class Stage(IntEnum):
    """What the next bytes of a client belong to."""

    BETWEEN = 0
    HEAD = 1
    BODY = 2
    REFUSED = 3


class Refusal(Exception):
    """What was sent is no request that only one reading fits."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status, self.message = status, message


class Connection(HttpToolsProtocol):
    """HTTP/1.1 with bounds. The seconds are met to within about one: that is how often it looks."""

    head_seconds = 15.0
    """From the first byte of a request to the end of its head."""
    body_seconds = 20.0
    """How long a body may come slower than `slowest_bytes_per_second`."""
    answer_seconds = 60.0
    """How long a client may read slower than that."""
    idle_seconds = 75.0
    linger_seconds = 2.0
    """How long more is read and thrown away behind a refusal, which a reset could take back."""
    slowest_bytes_per_second = 256

    stage = Stage.BETWEEN
    arrived = 0  # bytes of this request, without what came together with its first
    body_bytes = 0
    running: RequestResponseCycle | None = None  # `cycle` is the newest, which may wait for it
    last_words = b""
    _mark: object = None
    _since = 0.0
    _had = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, unless there are more connections than descriptors.

        What is answered in one turn of the loop leaves together.
        """
        if self.config not in _corks:
            _corks[self.config] = Corks(self.loop)
        super().connection_made(Corked(transport, _corks[self.config]))  # type: ignore[arg-type]
        if len(self.connections) > _most_connections():
            self.refuse("this server has more connections than it can hold", 503)
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the request under way, which uvicorn forgets when others wait behind it."""
        if self.running is not None and not self.running.response_complete:
            self.running.disconnected = True
            self.running.message_event.set()
        self.pipeline.clear()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what has come; what follows a refusal is not looked at."""
        if self.stage and not self._may_go_on(len(data)):
            return
        self._unset_keepalive_if_required()
        try:
            self._parse(data)
        except httptools.HttpParserError as error:
            reason = error.__context__
            if isinstance(reason, Refusal):
                self.refuse(reason.message, reason.status)
            else:
                self.refuse("this is not a valid HTTP/1.1 request")

    def on_message_begin(self) -> None:
        """Begin a request."""
        if len(self.pipeline) >= MAX_PIPELINED:
            raise Refusal(f"more than {MAX_PIPELINED:,} requests wait on one connection", 503)
        self.stage, self.arrived, self.body_bytes = Stage.HEAD, 0, 0
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; `chunked` is the only coding there is, and said once: RFC 9112 6.1."""
        name = name.lower()
        if name == b"transfer-encoding":
            if value.lower() != b"chunked" or any(name == other for other, _ in self.headers):
                raise Refusal("expected one Transfer-Encoding header that says 'chunked'")
            if self.parser.get_http_version() != "1.1":
                raise Refusal("HTTP/1.0 has no Transfer-Encoding")
        elif name == b"expect" and value.lower() == b"100-continue":
            self.expect_100_continue = True
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        """Dispatch the request, if its head can only be read in one way."""
        if self.url[:1] != b"/" or b"#" in self.url:
            self._check_target()
        if self.parser.get_http_version() not in _VERSIONS:
            raise Refusal("expected HTTP/1.1")
        if self.parser.should_upgrade():  # it comes again, see `_parse`
            if self.parser.get_method() == b"CONNECT":
                raise Refusal("this server is no proxy")
            return
        self.stage = Stage.BODY
        super().on_headers_complete()
        if not self.pipeline:
            self.running = self.cycle
        self.headers = []  # trailers must not become headers of the request: RFC 9110 6.5.1

    def on_body(self, body: bytes) -> None:
        """Take a part of the body."""
        self.body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End a request."""
        if not self.parser.should_upgrade():
            self.stage = Stage.BETWEEN
            super().on_message_complete()

    def on_response_complete(self) -> None:
        """Answer the next request that waits, and read no more while there is one."""
        waits = bool(self.pipeline)
        if waits:
            self.running = self.pipeline[-1][0]
        super().on_response_complete()
        if self.transport.is_closing():
            return
        if waits:
            self.flow.pause_reading()
        elif self.last_words:
            self._end(self.last_words)

    def refuse(self, message: str, status: int = 400) -> None:
        """Answer the request that is coming in, after those before it, and close.

        One whose answer has begun gets no second one. Whoever waits for its body hears that the
        client has gone.
        """
        stage, self.stage = self.stage, Stage.REFUSED
        has_answer = stage == Stage.BODY and self._withdraw()
        words = b"" if has_answer else _words(status, message)
        if self._is_idle():
            self._end(words)
        else:
            self.last_words = words
            self.flow.pause_reading()

    def shutdown(self) -> None:
        """Close, or do so with the answer under way."""
        if self._is_idle():
            self.transport.close()
        else:
            super().shutdown()

    def look(self, now: float) -> None:
        """End what has waited too long; called now and then."""
        if self.transport.get_write_buffer_size():
            unsent = self.transport.get_write_buffer_size() + _held_by_kernel(self.transport)
            if self._is_slow(now, self.transport, -unsent, self.answer_seconds):
                self.transport.abort()
        elif self.stage == Stage.REFUSED:
            if self._is_idle() and self._is_slow(now, self.transport, 0, self.linger_seconds):
                self.transport.abort()
        elif self.transport.is_closing():
            self._mark = None
        elif self.stage == Stage.HEAD:
            if self._is_slow(now, self.scope, 0, self.head_seconds):
                self.refuse("the head of the request took too long", 408)
        elif self.stage == Stage.BODY and not self._is_held_up():
            if self._is_slow(now, self.cycle, self.arrived, self.body_seconds):
                self.refuse("the body of the request took too long", 408)
        elif self._is_idle():
            if self._is_slow(now, self.running or self.flow, 0, self.idle_seconds):
                self.transport.close()
        else:
            self._mark = None

    def _may_go_on(self, size: int) -> bool:
        """Count what comes in pieces, and refuse what has no end."""
        if self.stage == Stage.REFUSED:
            return False
        self.arrived += size
        if self.arrived <= MAX_HEAD_BYTES:
            return True
        if self.stage == Stage.HEAD:
            self.refuse(f"the head of the request is larger than {MAX_HEAD_BYTES:,} bytes", 431)
            return False
        if self.arrived > MAX_HEAD_BYTES + _FRAMING_PER_BYTE * self.body_bytes + size:
            self.refuse("the body of the request has more around it than in it")
            return False
        if self.cycle.response_complete and self.arrived > _MAX_UNREAD_BYTES:
            self.refuse("the request was answered before its body ended")
            return False
        return True

    def _parse(self, data: bytes) -> None:
        """Feed the parser; a request for another protocol is read as if it had not asked.

        llhttp takes the body of such a request for the other protocol, and some clients ask for
        HTTP/2 with each of theirs.
        """
        while True:
            try:
                self.parser.feed_data(data)
            except httptools.HttpParserUpgrade as upgrade:
                data = self._head_without_upgrade() + data[upgrade.args[0] :]
                self.parser = httptools.HttpRequestParser(self)
                self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
            else:
                return

    def _head_without_upgrade(self) -> bytes:
        version = self.parser.get_http_version().encode()
        lines = [b"%s %s HTTP/%s" % (self.parser.get_method(), self.url, version)]
        lines += [b"%s: %s" % one for one in self.headers if one[0] != b"upgrade"]
        return b"\r\n".join([*lines, b"", b""])

    def _check_target(self) -> None:
        """Allow `*`, and an absolute form that names the same host as the Host header."""
        if b"#" in self.url:
            raise Refusal("a request has no fragment")
        if self.url == b"*" and self.parser.get_method() == b"OPTIONS":
            return
        scheme, _, rest = self.url.partition(b"://")
        hosts = [value.lower() for name, value in self.headers if name == b"host"]
        if scheme.lower() not in {b"http", b"https"} or b"/" not in rest:
            raise Refusal("expected a path")
        if hosts != [rest.partition(b"/")[0].lower()]:
            raise Refusal("the address of the request and its Host header differ")

    def _is_idle(self) -> bool:
        """Return whether nobody works on an answer."""
        one = self.running
        return one is None or one.response_complete or one.disconnected

    def _withdraw(self) -> bool:
        """Take the newest request back; return whether its answer has begun."""
        if self.cycle is not self.running:
            self.pipeline.popleft()
        self.cycle.disconnected = True
        self.cycle.message_event.set()
        return self.cycle.response_started

    def _is_held_up(self) -> bool:
        """Return whether it is we who do not read on."""
        waits = self.cycle.waiting_for_100_continue and not self.cycle.response_complete
        return self.flow.read_paused or waits

    def _is_slow(self, now: float, mark: object, had: int, seconds: float) -> bool:
        """Return whether `had` grew too slowly since the time when the mark was another one."""
        if mark is not self._mark:
            self._mark, self._since, self._had = mark, now, had
            return False
        passed = now - self._since
        if passed < seconds:
            return False
        is_slow = had - self._had < passed * self.slowest_bytes_per_second
        self._since, self._had = now, had
        return is_slow

    def _end(self, words: bytes) -> None:
        if not words or self.transport.is_closing():
            self.transport.close()
            return
        self.transport.write(words)
        self.transport.write_eof()
        self.flow.resume_reading()


def _words(status: int, message: str) -> bytes:
    body = _encode({"error": {"code": code_of(status), "message": message}})
    head = b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
    return STATUS_LINE[status] + head % len(body) + body


def _held_by_kernel(transport: asyncio.Transport) -> int:
    """Return the bytes that the client's machine has not taken: its kernel fills before ours."""
    descriptor = transport.get_extra_info("socket").fileno()
    if sys.platform != "linux":
        return 0
    return int(struct.unpack("i", fcntl.ioctl(descriptor, termios.TIOCOUTQ, bytes(4)))[0])


def _most_connections() -> int:
    """Return for how many connections there are descriptors, with some left for everything else."""
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return most - max(_FEWEST_FREE_DESCRIPTORS, most >> 3)


def raise_descriptor_limit() -> None:
    """Let this process open as many descriptors as it may; nothing here uses `select`."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for most in (_MOST_DESCRIPTORS, _MOST_DESCRIPTORS_OF_MACOS):
        wanted = most if hard == resource.RLIM_INFINITY else min(hard, most)
        if soft == resource.RLIM_INFINITY or soft >= wanted:
            return
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            return
