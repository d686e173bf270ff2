"""Serve an ASGI application on a socket that is already bound."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import (
    HEADER_RE,
    HEADER_VALUE_RE,
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from bbops.errors import ServerError

MAX_HEAD_BYTES = 256 << 10
"""More than this never reaches an application; what is below it gets an answer from there."""

KEEP_ALIVE_SECONDS = 75
BACKLOG = 2048


_WHOLE_BYTES = 64 << 10
"""A longer body is not copied to stand behind its head."""

_LINES_KEPT = 1024
_LONGEST_KEPT_BYTES = 128
_MEANT_FOR_UVICORN = frozenset((b"connection", b"transfer-encoding"))

_lines: dict[tuple[bytes, bytes], bytes] = {}


class WholeAnswer(RequestResponseCycle):
    """Writes the head and the body of a short answer at once.

    uvicorn writes them one after the other, which costs two system calls, and wakes the client
    twice. Everything unusual is left to it.
    """

    head: Any = None

    async def send(self, message: Any) -> None:
        """Keep the head until the body comes; until then an error still becomes a 500."""
        if message["type"] == "http.response.start" and not self.response_started:
            self.head = message
            return
        head, self.head = self.head, None
        if head is not None:
            whole = self._render(head, message)
            if whole is not None:
                self._finish(whole)
                return
            await super().send(head)
        await super().send(message)

    def _render(self, head: Any, message: Any) -> bytes | None:
        """Return the whole answer, or None if it is not a usual one."""
        body, status = message.get("body", b""), head["status"]
        if (
            message.get("more_body") or self.disconnected or not self.keep_alive
            or self.flow.write_paused or len(body) > _WHOLE_BYTES
        ):  # fmt: skip
            return None
        parts, length = [STATUS_LINE[status]], None
        for header in (*self.default_headers, *head["headers"]):
            line = _lines.get(header)
            if line is None:
                if header[0] == b"content-length":
                    length = header[1]
                line = _line(*header)
                if line is None:
                    return None
            parts.append(line)
        if length is None:
            if status not in {204, 304}:
                return None
        elif length != b"%d" % len(body) and self.scope["method"] != "HEAD":
            return None
        parts.append(b"\r\n")
        if self.scope["method"] != "HEAD":
            parts.append(body)
        return b"".join(parts)

    def _finish(self, whole: bytes) -> None:
        self.response_started = self.response_complete = True
        self.waiting_for_100_continue = False
        self.transport.write(whole)
        self.message_event.set()
        self.on_response()


def _line(name: bytes, value: bytes) -> bytes | None:
    """Return a header as it is sent; None if only uvicorn knows what to do with it."""
    lower = name.lower()
    if lower in _MEANT_FOR_UVICORN or HEADER_RE.search(name) or HEADER_VALUE_RE.search(value):
        return None
    line = b"%b: %b\r\n" % (lower, value)
    if name != b"content-length" and len(line) <= _LONGEST_KEPT_BYTES:
        if len(_lines) >= _LINES_KEPT:
            _lines.clear()
        _lines[name, value] = line
    return line


class BoundedProtocol(HttpToolsProtocol):
    """HTTP/1.1 whose request head cannot grow for ever: httptools itself sets no bound."""

    head_bytes = 0
    is_in_head = False

    def data_received(self, data: bytes) -> None:
        """Parse what has come; of a head in several pieces, all but the first are counted."""
        if self.is_in_head:
            self.head_bytes += len(data)
            if self.head_bytes > MAX_HEAD_BYTES:
                self.send_400_response("The request's head is too long.")
                return
        super().data_received(data)

    def on_message_begin(self) -> None:
        """Begin to count."""
        self.is_in_head, self.head_bytes = True, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Stop counting: bodies have bounds of their own."""
        self.is_in_head = False
        super().on_headers_complete()
        if self.cycle is not None:  # it is None before the upgrade to a websocket
            self.cycle.__class__ = WholeAnswer


class Server(uvicorn.Server):
    """A uvicorn server that leaves signals to its process."""

    def __init__(self, app: Any) -> None:
        super().__init__(
            uvicorn.Config(
                app, http=BoundedProtocol, ws="auto", lifespan="on", proxy_headers=False,
                server_header=False, access_log=False, log_config=None,
                timeout_keep_alive=KEEP_ALIVE_SECONDS, backlog=BACKLOG,
            )
        )  # fmt: skip
        self._serving: asyncio.Task[None] | None = None

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield

    def start(self, bound: socket.socket) -> asyncio.Task[None]:
        """Accept connections from now on; a second time does nothing."""
        if self._serving is None:
            self._serving = asyncio.create_task(self.serve(sockets=[bound]))
        return self._serving

    async def stop(self, grace_seconds: float) -> None:
        """Accept no more, and wait until what was asked is answered, at most for the grace."""
        self.config.timeout_graceful_shutdown = max(1, round(grace_seconds))
        self.should_exit = True
        if self._serving is not None:
            await self._serving


def bind(host: str, port: int, *, option: str) -> socket.socket:
    """Return a listening socket; connections wait in it until a process accepts them.

    Args:
        host: a name or an address of this machine.
        port: 0 finds a free one.
        option: the command's option that names another port, for the hint.

    Raises:
        ServerError: the port is taken, or the address is not this machine's.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = socket.socket(family, kind, protocol)
    except OSError as error:
        raise _cannot_bind(host, port, error, option) from None
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen(BACKLOG)
    except OSError as error:
        bound.close()
        raise _cannot_bind(host, port, error, option) from None
    bound.setblocking(False)  # noqa: FBT003 - its only argument
    return bound


def _cannot_bind(host: str, port: int, error: OSError, option: str) -> ServerError:
    reason = (error.strerror or "no reason given").lower()
    return ServerError(
        f"cannot listen on {host}:{port}: {reason}",
        hint=f"choose another port with '{option} PORT'",
    )
