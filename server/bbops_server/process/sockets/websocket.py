"""Upgrade connections to websockets, and write one frame to many of them.

uvicorn creates a frame for each connection and awaits each write, which costs three times as much.
A server's frame has no mask, and without compression it does not depend on the connection.
"""

from __future__ import annotations

import asyncio
import struct
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.exceptions import InvalidState

_TEXT: Final = 0x81
_SMALL, _MIDDLE = 126, 1 << 16

Send = Callable[[Any], Awaitable[None]]


def text_frame(text: bytes) -> bytes:
    """Return the frame of a text message: RFC 6455 section 5.2."""
    size = len(text)
    if size < _SMALL:
        return bytes((_TEXT, size)) + text
    if size < _MIDDLE:
        return struct.pack("!BBH", _TEXT, 126, size) + text
    return struct.pack("!BBQ", _TEXT, 127, size) + text


class WebsocketWriter:
    """Writes to a client without waiting. Unread messages are buffered, up to a limit.

    The first buffered message does not count, so that a client can get a long history.
    """

    __slots__ = (
        "_bytes",
        "_first",
        "_limits",
        "_protocol",
        "_queue",
        "_send",
        "_sending",
        "_waiting",
    )

    def __init__(self, send: Send, *, messages: int, size_bytes: int) -> None:
        """Args: `send`: ASGI's `send`. The others limit the buffer of a slow client."""
        protocol = getattr(send, "__self__", None)
        is_ours = type(protocol) is WebSocketsSansIOProtocol
        self._protocol: Any = protocol if is_ours else None
        self._send, self._limits = send, (messages, size_bytes)
        self._queue: deque[bytes] | None = None
        self._sending: asyncio.Task[None] | None = None
        self._waiting = self._bytes = self._first = 0

    def write(self, text: bytes, frame: bytes | None = None) -> bool:
        """Send a text soon; return False if the buffer is full.

        Args:
            text: the message.
            frame: the frame of the message, if it exists already.
        """
        protocol = self._protocol
        if protocol is None:
            return self._enqueue(text)
        if protocol.close_sent or protocol.disconnected:
            return True
        if protocol.writable.is_set():
            self._waiting, self._first = 0, len(text)
        else:
            self._waiting += 1
            messages, size_bytes = self._limits
            buffered = protocol.transport.get_write_buffer_size()
            if self._waiting > messages or buffered > size_bytes + self._first:
                return False
        protocol.transport.write(frame or text_frame(text))
        return True

    def close(self, code: int, reason: str, *, seconds: float) -> None:
        """Send a close frame; abort the connection if the client does not close it in time."""
        protocol, loop = self._protocol, asyncio.get_running_loop()
        if protocol is None:
            event = {"type": "websocket.close", "code": code, "reason": reason}
            self._sending = loop.create_task(self._send_close(event))
            return
        if protocol.close_sent or protocol.disconnected:
            return
        with suppress(InvalidState):  # the client closes at the same time
            protocol.conn.send_close(code, reason)
            protocol.transport.write(b"".join(protocol.conn.data_to_send()))
        protocol.close_sent = True
        protocol.queue.put_nowait({"type": "websocket.disconnect", "code": code, "reason": reason})
        protocol.close_timer = loop.call_later(seconds, protocol.transport.abort)

    def _enqueue(self, text: bytes) -> bool:
        if self._queue is None:
            self._queue = deque()
        messages, size_bytes = self._limits
        if not self._queue:
            self._first = len(text)
        if len(self._queue) >= messages or self._bytes > size_bytes + self._first:
            return False
        self._queue.append(text)
        self._bytes += len(text)
        if self._sending is None or self._sending.done():
            self._sending = asyncio.get_running_loop().create_task(self._send_queue(self._queue))
        return True

    async def _send_queue(self, queue: deque[bytes]) -> None:
        with suppress(ClientDisconnected, OSError):
            while queue:
                text = queue[0]
                await self._send({"type": "websocket.send", "text": text.decode()})
                queue.popleft()
                self._bytes -= len(text)

    async def _send_close(self, event: Any) -> None:
        with suppress(ClientDisconnected, OSError, RuntimeError):
            await self._send(event)


# ---- Upgrade HTTP connections to websockets

SOCKET_PATH: Final = b"/~realtime"
"""The end of a websocket's path. The start of the path selects the project."""

_MAX_LINE: Final = 8_000
"""The longest header in bytes; the package websockets ignores longer ones silently."""


def become_websocket(connection: Any, *, is_alone: bool) -> bool:
    """Upgrade a request to a websocket; return False if it is not a valid upgrade.

    Then the request is handled without its `Upgrade` header.

    Args:
        connection: an `HttpConnection` that has read the head of a request.
        is_alone: no bytes followed the head, as the client waits for the response.
    """
    path = connection.url.partition(b"?")[0]
    if (
        connection.config.ws_protocol_class is None
        or not is_alone
        or not connection.is_free
        or not path.endswith(SOCKET_PATH)
        or connection.parser.get_method() != b"GET"
        or not _wants_websocket(connection.headers)
    ):
        return False
    lines = [b"GET %s HTTP/1.1" % connection.url]
    lines += [b"%s: %s" % header for header in connection.headers]
    if max(map(len, lines)) > _MAX_LINE or len(lines) > 100:
        return False
    transport = connection.transport.detach()
    connection.connections.discard(connection)
    protocol = connection.config.ws_protocol_class(
        config=connection.config, server_state=connection.server_state,
        app_state=connection.app_state,
    )  # fmt: skip
    protocol.connection_made(transport)
    transport.set_protocol(protocol)
    protocol.data_received(b"\r\n".join([*lines, b"", b""]))
    return True


def _wants_websocket(headers: list[tuple[bytes, bytes]]) -> bool:
    return any(name == b"upgrade" and value.lower() == b"websocket" for name, value in headers)
