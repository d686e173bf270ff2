"""Write to many websockets what is the same for all: one frame of bytes, made once.

uvicorn makes a frame for each connection, and waits for each: three times the work. A frame of a
server has no mask, and without compression nothing in it is of one connection.
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
    """Return a whole text message as it goes over a connection: RFC 6455 section 5.2."""
    size = len(text)
    if size < _SMALL:
        return bytes((_TEXT, size)) + text
    if size < _MIDDLE:
        return struct.pack("!BBH", _TEXT, 126, size) + text
    return struct.pack("!BBQ", _TEXT, 127, size) + text


class WebsocketWriter:
    """The way out to one client. Nobody waits for it: what it does not read is kept, to a limit.

    The first text that waits does not count: a client that has missed much can read all of it.
    """

    __slots__ = (
        "_bytes",
        "_first",
        "_most",
        "_protocol",
        "_queue",
        "_send",
        "_sending",
        "_waiting",
    )

    def __init__(self, send: Send, *, messages: int, size_bytes: int) -> None:
        """Take ASGI's `send`, and how much may wait for a client that is slow."""
        protocol = getattr(send, "__self__", None)
        is_ours = type(protocol) is WebSocketsSansIOProtocol
        self._protocol: Any = protocol if is_ours else None
        self._send, self._most = send, (messages, size_bytes)
        self._queue: deque[bytes] | None = None
        self._sending: asyncio.Task[None] | None = None
        self._waiting = self._bytes = self._first = 0

    def write(self, text: bytes, frame: bytes | None = None) -> bool:
        """Send a text soon; return False, with nothing kept, where too much waits already.

        Args:
            frame: the same as `text_frame` gives it, where others get it, too.
        """
        protocol = self._protocol
        if protocol is None:
            return self._keep(text)
        if protocol.close_sent or protocol.disconnected:
            return True
        if protocol.writable.is_set():
            self._waiting, self._first = 0, len(text)
        else:
            self._waiting += 1
            most, size_bytes = self._most
            buffered = protocol.transport.get_write_buffer_size()
            if self._waiting > most or buffered > size_bytes + self._first:
                return False
        protocol.transport.write(frame or text_frame(text))
        return True

    def close(self, code: int, reason: str, *, seconds: float) -> None:
        """Send that this ends; a client that does not read it in time is cut off."""
        protocol, loop = self._protocol, asyncio.get_running_loop()
        if protocol is None:
            told = {"type": "websocket.close", "code": code, "reason": reason}
            self._sending = loop.create_task(self._last(told))
            return
        if protocol.close_sent or protocol.disconnected:
            return
        with suppress(InvalidState):  # the client has closed in this moment
            protocol.conn.send_close(code, reason)
            protocol.transport.write(b"".join(protocol.conn.data_to_send()))
        protocol.close_sent = True
        protocol.queue.put_nowait({"type": "websocket.disconnect", "code": code, "reason": reason})
        protocol.close_timer = loop.call_later(seconds, protocol.transport.abort)

    def _keep(self, text: bytes) -> bool:
        if self._queue is None:
            self._queue = deque()
        most, size_bytes = self._most
        if not self._queue:
            self._first = len(text)
        if len(self._queue) >= most or self._bytes > size_bytes + self._first:
            return False
        self._queue.append(text)
        self._bytes += len(text)
        if self._sending is None or self._sending.done():
            self._sending = asyncio.get_running_loop().create_task(self._flow(self._queue))
        return True

    async def _flow(self, queue: deque[bytes]) -> None:
        with suppress(ClientDisconnected, OSError):
            while queue:
                text = queue[0]
                await self._send({"type": "websocket.send", "text": text.decode()})
                queue.popleft()
                self._bytes -= len(text)

    async def _last(self, told: Any) -> None:
        with suppress(ClientDisconnected, OSError, RuntimeError):
            await self._send(told)
