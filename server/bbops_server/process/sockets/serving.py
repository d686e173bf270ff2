"""Serve an ASGI application on a socket that is already bound."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from bbops_server.process.sockets import descriptors
from bbops_server.process.sockets.binding import BACKLOG
from bbops_server.process.sockets.connection import HttpConnection

IDLE_SECONDS = 5.0
"""How long a connection without a request stays open once others are to be served elsewhere."""

_CHECKS_AT_ONCE = 500
_POLL_SECONDS = 0.02


class SocketServer(uvicorn.Server):
    """A uvicorn server that leaves signals to its process, and waits for no client for ever."""

    ticks_per_look = 10

    def __init__(
        self,
        app: Any,
        *,
        connection: type[HttpConnection] = HttpConnection,
        most_frame_bytes: int = 0,
    ) -> None:
        """Args: `most_frame_bytes`: of what a websocket may send at once; 0 for no websockets."""
        super().__init__(
            uvicorn.Config(
                app, http=connection, ws="websockets-sansio" if most_frame_bytes else "none",
                ws_max_size=most_frame_bytes, ws_ping_interval=None, ws_per_message_deflate=False,
                lifespan="on", proxy_headers=False,
                server_header=False, access_log=False, log_config=None,
                timeout_keep_alive=round(connection.idle_seconds), backlog=BACKLOG,
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
            descriptors.raise_limit()
            self._serving = asyncio.create_task(self.serve(sockets=[bound]))
        return self._serving

    async def on_tick(self, counter: int) -> bool:
        """Look at every connection about once a second; uvicorn ticks ten times a second."""
        if counter % self.ticks_per_look == 0:
            now = asyncio.get_running_loop().time()
            for number, connection in enumerate(self._connections()):
                if number % _CHECKS_AT_ONCE == _CHECKS_AT_ONCE - 1:
                    await asyncio.sleep(0)
                connection.look(now)
        return await super().on_tick(counter)

    async def leave(self, seconds: float, *, idle_seconds: float = IDLE_SECONDS) -> None:
        """Accept no more, and return once every connection and request has ended, or is late.

        No request is lost: what is under way is answered, and what comes on a connection that
        stays open; each such answer says that it is the last one.

        Args:
            seconds: how long that may take.
            idle_seconds: how long a connection has no request before it is closed.
        """
        if not self.started:
            return
        self.ticks_per_look = 1
        for server in self.servers:
            server.close()
        until, state = asyncio.get_running_loop().time() + seconds, self.server_state
        while (state.connections or state.tasks) and asyncio.get_running_loop().time() < until:
            for connection in self._connections():
                if not connection.leaves:
                    connection.leave(idle_seconds)
            await asyncio.sleep(_POLL_SECONDS)  # uvicorn keeps these sets, and tells nobody

    def _connections(self) -> list[HttpConnection]:
        return [one for one in self.server_state.connections if isinstance(one, HttpConnection)]

    async def stop(self, grace_seconds: float) -> None:
        """Accept no more, and wait until what was asked is answered, at most for the grace."""
        self.config.timeout_graceful_shutdown = max(1, round(grace_seconds))
        self.should_exit = True
        if self._serving is not None:
            await self._serving
