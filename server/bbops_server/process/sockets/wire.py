"""Buffer writes to sockets, and limit the heads of requests.

A response is one write, and so are all responses of an event loop iteration.

uvicorn writes head and body separately. Each write is a system call that wakes the client, which
then reads half a response; and waking a client between two responses costs more than both.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

_MAX_BUFFERED = 64
"""The number of buffered writes above which they are sent at once."""

_CLOSE = b"connection: close\r\n"


class RequestCycle(RequestResponseCycle):
    """A request and its response, cheaper than uvicorn's: docs/decisions/0120 has the figures.

    Attributes have defaults in the class. The request removes its own task from the server's set,
    because a callback of the task would be another call of the event loop.
    """

    access_log = disconnected = response_started = response_complete = False
    more_body = True
    chunked_encoding: bool | None = None
    expected_content_length = 0

    task: asyncio.Task[None] | None = None

    def __init__(
        self, protocol: HttpToolsProtocol, on_response: Callable[..., None], *, keep_alive: bool
    ) -> None:
        """Create the cycle of the request that `protocol` has read."""
        self.scope, self.transport, self.flow = protocol.scope, protocol.transport, protocol.flow
        self.logger, self.tasks = protocol.logger, protocol.tasks
        self.default_headers = protocol.server_state.default_headers
        self.waiting_for_100_continue = protocol.expect_100_continue
        self.message_event, self.body = asyncio.Event(), bytearray()
        self.on_response, self.keep_alive = on_response, keep_alive

    def start(self, loop: asyncio.AbstractEventLoop, app: Any) -> None:
        """Run the application in a task."""
        self.task = task = loop.create_task(self.run_asgi(app))
        self.tasks.add(task)

    async def receive(self) -> Any:
        """Return the next event: at once if the whole body has arrived, as nearly always."""
        if (
            self.more_body or not self.body or self.response_complete or self.disconnected
            or self.flow.read_paused or self.waiting_for_100_continue
        ):  # fmt: skip
            return await super().receive()
        self.message_event.clear()
        body, self.body = bytes(self.body), bytearray()
        return {"type": "http.request", "body": body, "more_body": False}

    async def run_asgi(self, app: Any) -> None:
        """Run the application and release the task; end a response that is not complete."""
        try:
            await app(self.scope, self.receive, self.send)
            if not self.response_complete and not self.disconnected:
                self.logger.error("The application returned without a complete response")
                await self._end()
        except BaseException:
            self.logger.exception("Exception in ASGI application")
            await self._end()
        finally:
            self.on_response = _ignore
            if self.task is not None:
                self.tasks.discard(self.task)
                self.task = None

    async def _end(self) -> None:
        """Send status 500, or close the connection if the response has begun."""
        if self.response_started:
            self.transport.close()
        else:
            await self.send_500_response()


def _ignore() -> None:
    pass


def send_whole(send: Any, status: int, lines: bytes, body: bytes) -> bool:
    """Send a response in one write; return False if the caller must use ASGI's `send`.

    The bytes are equal to those of `send`, which a test checks. The result is False if `send` is
    not uvicorn's, was used before, or the client reads too slowly.

    Args:
        send: ASGI's `send`.
        status: the status.
        lines: the headers, each as `name: value` with a line end, names in lower case.
        body: the body.
    """
    cycle = getattr(send, "__self__", None)
    if (
        type(cycle) is not RequestCycle
        or cycle.response_started
        or cycle.flow.write_paused
    ):  # fmt: skip
        return False
    if cycle.disconnected:
        return True
    cycle.response_started = True
    cycle.waiting_for_100_continue = False
    if lines.startswith(_CLOSE) or b"\n" + _CLOSE in lines:  # not `x-connection: close`
        cycle.keep_alive = False
    elif not cycle.keep_alive:
        lines += _CLOSE
    transport: Any = cycle.transport
    start = transport.buffers.head_of(status, cycle.default_headers)
    transport.buffers.add(transport.transport, b"%b%b\r\n%b" % (start, lines, body))
    cycle.response_complete = True
    cycle.message_event.set()
    if not cycle.keep_alive:
        transport.close()
    cycle.on_response()
    return True


class WriteBuffers:
    """The buffered writes of an event loop's connections, sent in its next iteration."""

    __slots__ = ("_call_soon", "_defaults", "_heads", "writes")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._call_soon = loop.call_soon
        self._defaults: object = None
        self._heads: dict[int, bytes] = {}
        self.writes: list[tuple[asyncio.Transport, bytes]] = []

    def head_of(self, status: int, defaults: list[tuple[bytes, bytes]]) -> bytes:
        """Return the status line and the default headers, which change each second."""
        if defaults is not self._defaults:
            self._defaults, self._heads = defaults, {}
        head = self._heads.get(status)
        if head is None:
            lines = [b"%b: %b\r\n" % header for header in defaults]
            head = self._heads[status] = STATUS_LINE[status] + b"".join(lines)
        return head

    def flush(self) -> None:
        """Send all buffered writes."""
        writes, self.writes = self.writes, []
        for transport, data in writes:
            if not transport.is_closing():  # the client may have disconnected
                transport.write(data)

    def add(self, transport: asyncio.Transport, data: bytes) -> None:
        """Buffer a write until the next iteration of the event loop."""
        writes = self.writes
        writes.append((transport, data))
        if len(writes) == 1:
            self._call_soon(self.flush)
        elif len(writes) >= _MAX_BUFFERED:
            self.flush()


class BufferedTransport:
    """A transport that buffers writes until the next iteration of the event loop.

    The head of a stream is sent before its first part, if that is late.
    """

    __slots__ = ("buffers", "transport")

    def __init__(self, transport: asyncio.Transport, buffers: WriteBuffers) -> None:
        self.transport, self.buffers = transport, buffers

    def write(self, data: bytes) -> None:
        """Buffer `data`; writes keep their order."""
        self.buffers.add(self.transport, data)

    def is_closing(self) -> bool:
        """Return whether the transport is closing or closed."""
        return self.transport.is_closing()

    def write_eof(self) -> None:
        """Flush the buffers, and send the end."""
        self.buffers.flush()
        self.transport.write_eof()

    def close(self) -> None:
        """Flush the buffers, and close the transport."""
        self.buffers.flush()
        self.transport.close()

    def detach(self) -> asyncio.Transport:
        """Flush the buffers, and return the transport for another protocol."""
        self.buffers.flush()
        return self.transport

    def __getattr__(self, name: str) -> Any:
        return getattr(self.transport, name)


# ---- The limits of a request's head, equal on both planes

MAX_HEADERS: Final = 100
MAX_HEADERS_BYTES: Final = 32 << 10
"""The size of names, values and query string together."""
MAX_PATH_BYTES: Final = 8 << 10

RequestProblem = tuple[int, str]


def find_problem(scope: Any) -> RequestProblem | None:
    """Return the status and message to reject a request with; None for a valid request.

    Two Host headers are a method of request smuggling: RFC 9112 section 3.2.
    """
    headers = scope["headers"]
    if len(headers) > MAX_HEADERS:
        return 431, f"more than {MAX_HEADERS} headers"
    hosts, size = 0, len(scope["query_string"])
    for name, value in headers:
        size += len(name) + len(value)
        if name == b"host":
            hosts += 1
    if hosts != 1:
        return 400, f"expected one Host header, found {hosts}"
    if size > MAX_HEADERS_BYTES:
        return 431, f"the headers are larger than {MAX_HEADERS_BYTES:,} bytes"
    if len(scope.get("raw_path") or b"") > MAX_PATH_BYTES:
        return 400, f"the path is longer than {MAX_PATH_BYTES:,} bytes"
    return None
