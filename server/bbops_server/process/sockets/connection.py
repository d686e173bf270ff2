"""A client's HTTP/1.1 connection: reject ambiguous requests, and close slow connections.

It extends uvicorn's protocol on the strict parser llhttp. Ambiguous requests that llhttp accepts
are rejected here, so that a proxy and this server never see different requests in the same bytes.
Requests need no timers: a loop checks all connections about once a second.
"""

from __future__ import annotations

import asyncio
from enum import IntEnum
from typing import Any, Final, cast
from urllib.parse import unquote
from weakref import WeakKeyDictionary

import httptools
import msgspec
import uvicorn
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from bbops.runtime.flow.run import code_of
from bbops_server.process.sockets import descriptors
from bbops_server.process.sockets.websocket import become_websocket
from bbops_server.process.sockets.wire import BufferedTransport, RequestCycle, WriteBuffers

MAX_HEAD_BYTES: Final = 256 << 10
"""The largest head of a request that the application gets."""

MAX_PIPELINED: Final = 1_024
"""The most requests that wait for the response of an earlier request."""

_MAX_UNREAD_BYTES: Final = 2 << 20  # of a body that arrives after the response
_FRAMING_PER_BYTE: Final = 16  # a chunk of one byte has five bytes of framing
_VERSIONS: Final = frozenset({"1.0", "1.1"})
_ASGI: Final[Any] = {"version": "3.0", "spec_version": "2.3"}
_encode = msgspec.json.Encoder().encode
_buffers: WeakKeyDictionary[uvicorn.Config, WriteBuffers] = WeakKeyDictionary()


class RequestStage(IntEnum):
    """The part of a request that the next bytes belong to."""

    BETWEEN = 0
    HEAD = 1
    BODY = 2
    REFUSED = 3


class MalformedRequest(Exception):
    """A request is malformed or ambiguous."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status, self.message = status, message


class HttpConnection(HttpToolsProtocol):
    """An HTTP/1.1 connection with limits. Timeouts are checked about once a second."""

    head_seconds = 15.0
    """The timeout from the first byte of a request to the end of its head."""
    body_seconds = 20.0
    """The time for which a body may arrive slower than `min_bytes_per_second`."""
    answer_seconds = 60.0
    """The time for which a client may read slower than that."""
    idle_seconds = 75.0
    linger_seconds = 2.0
    """The time for which input is discarded after a rejection, so that a reset does not drop it."""
    min_bytes_per_second = 256

    stage = RequestStage.BETWEEN
    arrived = 0  # bytes of this request, except those that arrived together with its first
    body_bytes = 0
    wants_upgrade = False
    running: RequestCycle | None = None
    """The running request. `cycle` is the newest request, which may wait for it."""
    last_response = b""
    is_leaving = False
    _mark: object = None
    _since = 0.0
    _had = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, unless there are too many connections for the descriptors."""
        buffers = _buffers.get(self.config)
        if buffers is None:
            buffers = _buffers[self.config] = WriteBuffers(self.loop)
        super().connection_made(BufferedTransport(transport, buffers))  # type: ignore[arg-type]
        if len(self.connections) > descriptors.max_connections():
            descriptors.warn_once_a_minute(self.loop.time())
            self.refuse("too many connections", 503)
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Notify the running request, which uvicorn does not if other requests wait for it."""
        if self.running is not None and not self.running.response_complete:
            self.running.disconnected = True
            self.running.message_event.set()
        self.pipeline.clear()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse received bytes. Bytes after a rejection are ignored."""
        if self.stage and not self._check_size(len(data)):
            return
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            if not become_websocket(self, is_alone=upgrade.args[0] == len(data)):
                self._parse_again(data, upgrade.args[0])
        except httptools.HttpParserError as error:
            self._refuse_for(error)

    def on_message_begin(self) -> None:
        """Begin a request."""
        if len(self.pipeline) >= MAX_PIPELINED:
            raise MalformedRequest(
                f"more than {MAX_PIPELINED:,} requests wait on one connection", 503
            )
        self.stage, self.arrived, self.body_bytes = RequestStage.HEAD, 0, 0
        self.url, self.headers = b"", []
        self.expect_100_continue = self.wants_upgrade = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header. `chunked` is the only transfer coding, without repetition: RFC 9112 6.1."""
        name = name.lower()
        if name == b"transfer-encoding":
            if value.lower() != b"chunked" or any(name == other for other, _ in self.headers):
                raise MalformedRequest("expected one Transfer-Encoding header that says 'chunked'")
            if self.parser.get_http_version() != "1.1":
                raise MalformedRequest("HTTP/1.0 has no Transfer-Encoding")
        elif name == b"expect" and value.lower() == b"100-continue":
            self.expect_100_continue = True
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        """Dispatch the request, if its head is not ambiguous."""
        raw_path, query = self._read_target()
        version = self.parser.get_http_version()
        if version not in _VERSIONS:
            raise MalformedRequest("expected HTTP/1.1")
        method = self.parser.get_method().decode("ascii")
        if self.parser.should_upgrade():  # it is parsed again, see `_parse_again`
            if method == "CONNECT":
                raise MalformedRequest("this server is not a proxy")
            self.wants_upgrade = True
            return
        self.stage = RequestStage.BODY
        path = raw_path.decode("ascii")
        self.scope = {
            "type": "http", "asgi": _ASGI, "http_version": version, "scheme": self.scheme or "http",
            "server": self.server, "client": self.client, "root_path": "", "method": method,
            "path": unquote(path) if "%" in path else path, "raw_path": raw_path,
            "query_string": query, "headers": self.headers, "state": self.app_state.copy(),
        }  # fmt: skip
        self.headers = []  # trailers must not become headers of the request: RFC 9110 6.5.1
        self._start(
            RequestCycle(
                self, self.on_response_complete,
                keep_alive=version != "1.0" and self.parser.should_keep_alive(),
            )
        )  # fmt: skip

    def on_body(self, body: bytes) -> None:
        """Add a part of the body; pause reading if the application has not read much of it."""
        self.body_bytes += len(body)
        cycle = self.cycle
        if not cycle.response_complete:
            cycle.body += body
            if len(cycle.body) > HIGH_WATER_LIMIT:
                self.flow.pause_reading()
            cycle.message_event.set()

    def on_message_complete(self) -> None:
        """End a request."""
        if not self.wants_upgrade:
            self.stage = RequestStage.BETWEEN
            if not self.cycle.response_complete:
                self.cycle.more_body = False
                self.cycle.message_event.set()

    def on_response_complete(self) -> None:
        """Start the next waiting request, and pause reading while requests wait."""
        if self.transport.is_closing():
            return
        if self.pipeline:
            cycle, app = self.pipeline.pop()
            self._run(cast("RequestCycle", cycle), app)
            self.flow.pause_reading()
            return
        if self.flow.read_paused:
            self.flow.resume_reading()
        if self.last_response:
            self._end(self.last_response)

    def _start(self, cycle: RequestCycle) -> None:
        """Start a request, or queue it while an earlier request is running."""
        is_first = self._is_idle() and not self.pipeline
        self.cycle = cycle
        if is_first:
            self._run(cycle, self.app)
        else:
            self.flow.pause_reading()
            self.pipeline.appendleft((cycle, self.app))

    def refuse(self, message: str, status: int = 400) -> None:
        """Reject the current request after the responses of earlier ones, and close the connection.

        If its response has begun, there is no second response; the application gets a disconnect.
        """
        stage, self.stage = self.stage, RequestStage.REFUSED
        has_response = stage == RequestStage.BODY and self._withdraw()
        response = b"" if has_response else _error_response(status, message)
        if self._is_idle():
            self._end(response)
        else:
            self.last_response = response
            self.flow.pause_reading()

    def shutdown(self) -> None:
        """Close the connection, after a running response."""
        if self._is_idle():
            self.transport.close()
        else:
            super().shutdown()

    def leave(self, idle_seconds: float) -> None:
        """Close after the next response, or after `idle_seconds` without a request.

        The response has `connection: close`, after which a client sends no more requests here, so
        no request is lost.
        """
        self.is_leaving, self.idle_seconds = True, idle_seconds
        self._mark_last_response()

    def _mark_last_response(self) -> None:
        """Add `connection: close` to the running response, unless another request waits."""
        cycle = self.running
        if not self.is_leaving or cycle is None or cycle is not self.cycle:
            return
        if not cycle.response_started:
            cycle.keep_alive = False

    def _run(self, cycle: RequestCycle, app: Any) -> None:
        self.running = cycle
        if self.is_leaving:  # later, after parsing the bytes that arrived together
            self.loop.call_soon(self._mark_last_response)
        cycle.start(self.loop, app)

    def check_timeouts(self, now: float) -> None:
        """Close or reject a slow or idle connection. Called about once a second."""
        if held := self.transport.get_write_buffer_size():
            unsent = held + descriptors.unsent_bytes(self.transport)
            if self._is_slow(now, self.transport, -unsent, self.answer_seconds):
                self.transport.abort()
        elif self.stage == RequestStage.REFUSED:
            if self._is_idle() and self._is_slow(now, self.transport, 0, self.linger_seconds):
                self.transport.abort()
        elif self.transport.is_closing():
            self._mark = None
        elif self.stage == RequestStage.HEAD:
            if self._is_slow(now, self.headers, 0, self.head_seconds):
                self.refuse("the request headers took too long", 408)
        elif self.stage == RequestStage.BODY and not self._is_reading_paused():
            if self._is_slow(now, self.cycle, self.arrived, self.body_seconds):
                self.refuse("the body of the request took too long", 408)
        elif self._is_idle():
            is_late = self._is_slow(now, self.running or self.flow, 0, self.idle_seconds)
            if is_late and not descriptors.unread_bytes(self.transport):
                self.transport.close()
        else:
            self._mark = None

    def _check_size(self, size: int) -> bool:
        """Count received bytes; reject a request that is too large, and return False then."""
        if self.stage == RequestStage.REFUSED:
            return False
        self.arrived += size
        if self.arrived <= MAX_HEAD_BYTES:
            return True
        if self.stage == RequestStage.HEAD:
            self.refuse(f"the request headers are larger than {MAX_HEAD_BYTES:,} bytes", 431)
            return False
        if self.arrived > MAX_HEAD_BYTES + _FRAMING_PER_BYTE * self.body_bytes + size:
            self.refuse("the request body has more framing than data")
            return False
        if self.cycle.response_complete and self.arrived > _MAX_UNREAD_BYTES:
            self.refuse("the request was answered before its body ended")
            return False
        return True

    def _parse_again(self, data: bytes, offset: int) -> None:
        """Parse a request again without its `Upgrade` header.

        llhttp treats the body of such a request as the other protocol, and some clients request
        HTTP/2 each time. It is a loop, as a client may pipeline hundreds of such requests.
        """
        while True:
            data = self._head_without_upgrade() + data[offset:]
            self.parser = httptools.HttpRequestParser(self)
            self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
            try:
                self.parser.feed_data(data)
            except httptools.HttpParserUpgrade as upgrade:
                offset = upgrade.args[0]
                continue
            except httptools.HttpParserError as error:
                self._refuse_for(error)
            return

    def _refuse_for(self, error: Exception) -> None:
        reason = error.__context__
        if isinstance(reason, MalformedRequest):
            self.refuse(reason.message, reason.status)
        else:
            self.refuse("this is not a valid HTTP/1.1 request")

    def _head_without_upgrade(self) -> bytes:
        version = self.parser.get_http_version().encode()
        lines = [b"%s %s HTTP/%s" % (self.parser.get_method(), self.url, version)]
        lines += [b"%s: %s" % header for header in self.headers if header[0] != b"upgrade"]
        return b"\r\n".join([*lines, b"", b""])

    def _read_target(self) -> tuple[bytes, bytes]:
        """Return path and query. The target is a path, `*`, or a URL with the same host."""
        url = self.url
        if b"#" in url:
            raise MalformedRequest("a request has no fragment")
        if url[:1] != b"/":
            if url == b"*" and self.parser.get_method() == b"OPTIONS":
                return url, b""
            scheme, _, rest = url.partition(b"://")
            host, slash, path = rest.partition(b"/")
            if scheme.lower() not in {b"http", b"https"} or not slash:
                raise MalformedRequest("expected a path")
            if [host.lower()] != [value.lower() for name, value in self.headers if name == b"host"]:
                raise MalformedRequest("the request URL and its Host header differ")
            url = b"/" + path
        path, _, query = url.partition(b"?")
        return path, query

    @property
    def is_free(self) -> bool:
        """Whether the newest request is the only one."""
        return self._is_idle() and not self.pipeline and self.stage == RequestStage.HEAD

    def _is_idle(self) -> bool:
        """Return whether no request is running."""
        cycle = self.running
        return cycle is None or cycle.response_complete or cycle.disconnected

    def _withdraw(self) -> bool:
        """Cancel the newest request; return whether its response has begun."""
        if self.cycle is not self.running:
            self.pipeline.popleft()
        self.cycle.disconnected = True
        self.cycle.message_event.set()
        return self.cycle.response_started

    def _is_reading_paused(self) -> bool:
        """Return whether the server, not the client, delays the body."""
        waits = self.cycle.waiting_for_100_continue and not self.cycle.response_complete
        return self.flow.read_paused or waits

    def _is_slow(self, now: float, mark: object, had: int, seconds: float) -> bool:
        """Return whether `had` has grown too slowly since `mark` changed.

        Args:
            now: the time.
            mark: the measured object; another object starts a new measurement.
            had: the number of bytes.
            seconds: the shortest time of a measurement.
        """
        if mark is not self._mark:
            self._mark, self._since, self._had = mark, now, had
            return False
        passed = now - self._since
        if passed < seconds:
            return False
        is_slow = had - self._had < passed * self.min_bytes_per_second
        self._since, self._had = now, had
        return is_slow

    def _end(self, response: bytes) -> None:
        if not response or self.transport.is_closing():
            self.transport.close()
            return
        self.transport.write(response)
        self.transport.write_eof()
        self.flow.resume_reading()


def _error_response(status: int, message: str) -> bytes:
    body = _encode({"error": {"code": code_of(status), "message": message}})
    head = b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
    return STATUS_LINE[status] + head % len(body) + body
