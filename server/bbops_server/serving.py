"""Serve an ASGI application on a socket that is already bound."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from bbops.errors import ServerError
from bbops_server.wire import Corked, Corks

MAX_HEAD_BYTES = 256 << 10
"""More than this never reaches an application; what is below it gets an answer from there."""

KEEP_ALIVE_SECONDS = 75
BACKLOG = 2048


_corks: WeakKeyDictionary[uvicorn.Config, Corks] = WeakKeyDictionary()


class BoundedProtocol(HttpToolsProtocol):
    """HTTP/1.1 whose request head cannot grow for ever: httptools itself sets no bound."""

    head_bytes = 0
    is_in_head = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to talk; what is answered in one turn of the loop leaves together."""
        if self.config not in _corks:
            _corks[self.config] = Corks(self.loop)
        super().connection_made(Corked(transport, _corks[self.config]))  # type: ignore[arg-type]

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
