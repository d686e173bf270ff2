"""Write answers to sockets: each whole, and those of one turn of the event loop together.

uvicorn writes a head and a body one after the other. Each write is a system call that wakes the
client, which then finds half an answer; and a client that is woken between two answers costs more
than both of them.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

_MAX_BUFFERED = 64
"""Answers that wait for each other; more are sent at once."""

_CLOSE = b"connection: close\r\n"


def send_whole(send: Any, status: int, lines: bytes, body: bytes) -> bool:
    """Answer a request in one write; return False where that is for ASGI's `send` to do.

    The bytes are those that `send` would write for the two messages of an answer: a test compares
    them. False if it is not uvicorn's `send`, was used before, or its client reads too slowly.

    Args:
        lines: the headers, each `name: value` and a line's end, names in lower case.
    """
    cycle = getattr(send, "__self__", None)
    if (
        type(cycle) is not RequestResponseCycle
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
    start = transport.corks.start_of(status, cycle.default_headers)
    transport.write(b"%b%b\r\n%b" % (start, lines, body))
    cycle.response_complete = True
    cycle.message_event.set()
    if not cycle.keep_alive:
        transport.close()
    cycle.on_response()
    return True


class WriteBuffers:
    """What the connections of one event loop have kept back; sent before the loop waits again."""

    __slots__ = ("_call_soon", "_defaults", "_starts", "held")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._call_soon = loop.call_soon
        self._defaults: object = None
        self._starts: dict[int, bytes] = {}
        self.held: list[tuple[asyncio.Transport, bytes]] = []

    def start_of(self, status: int, defaults: list[tuple[bytes, bytes]]) -> bytes:
        """Return the status line and the headers of every answer, which change each second."""
        if defaults is not self._defaults:
            self._defaults, self._starts = defaults, {}
        found = self._starts.get(status)
        if found is None:
            lines = [b"%b: %b\r\n" % one for one in defaults]
            found = self._starts[status] = STATUS_LINE[status] + b"".join(lines)
        return found

    def release(self) -> None:
        """Send what every connection keeps."""
        held, self.held = self.held, []
        for transport, data in held:
            if not transport.is_closing():  # its client may have left since
                transport.write(data)

    def hold(self, transport: asyncio.Transport, data: bytes) -> None:
        """Keep `data` until the event loop turns."""
        held = self.held
        held.append((transport, data))
        if len(held) == 1:
            self._call_soon(self.release)
        elif len(held) >= _MAX_BUFFERED:
            self.release()


class BufferedTransport:
    """A transport whose writes wait until the event loop turns; the rest is the transport's own.

    A stream whose first part is late still sends its head at once.
    """

    __slots__ = ("_transport", "corks")

    def __init__(self, transport: asyncio.Transport, corks: WriteBuffers) -> None:
        self._transport, self.corks = transport, corks

    def write(self, data: bytes) -> None:
        """Send `data` soon, behind what was written before."""
        self.corks.hold(self._transport, data)

    def write_eof(self) -> None:
        """Send what was kept, and that nothing follows."""
        self.corks.release()
        self._transport.write_eof()

    def close(self) -> None:
        """Send what was kept, then close."""
        self.corks.release()
        self._transport.close()

    def handed_over(self) -> asyncio.Transport:
        """Send what was kept, and return the transport for another protocol."""
        self.corks.release()
        return self._transport

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
