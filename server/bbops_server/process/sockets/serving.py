"""Serve an ASGI application on a bound socket."""

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
"""The time for which an idle connection stays open when the server leaves."""

_CHECKS_AT_ONCE = 500
_POLL_SECONDS = 0.02


class SocketServer(uvicorn.Server):
    """A uvicorn server with timeouts for clients, which does not handle signals."""

    ticks_per_check = 10

    def __init__(
        self,
        app: Any,
        *,
        connection: type[HttpConnection] = HttpConnection,
        max_frame_bytes: int = 0,
    ) -> None:
        """Args: `max_frame_bytes`: the size of a websocket frame; 0 for no websockets."""
        super().__init__(
            uvicorn.Config(
                app, http=connection, ws="websockets-sansio" if max_frame_bytes else "none",
                ws_max_size=max_frame_bytes, ws_ping_interval=None, ws_per_message_deflate=False,
                lifespan="on", proxy_headers=False,
                server_header=False, access_log=False, log_config=None,
                timeout_keep_alive=round(connection.idle_seconds), backlog=BACKLOG,
            )
        )  # fmt: skip
        self._serving: asyncio.Task[None] | None = None

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Do not handle signals: the process does."""
        yield

    def start(self, bound: socket.socket) -> asyncio.Task[None]:
        """Start to accept connections. A second call has no effect."""
        if self._serving is None:
            descriptors.raise_limit()
            self._serving = asyncio.create_task(self.serve(sockets=[bound]))
        return self._serving

    async def on_tick(self, counter: int) -> bool:
        """Check the timeouts of all connections about once a second; uvicorn ticks every 0.1 s."""
        if counter % self.ticks_per_check == 0:
            now = asyncio.get_running_loop().time()
            for number, connection in enumerate(self._connections()):
                if number % _CHECKS_AT_ONCE == _CHECKS_AT_ONCE - 1:
                    await asyncio.sleep(0)
                connection.check_timeouts(now)
        return await super().on_tick(counter)

    async def leave(self, seconds: float, *, idle_seconds: float = IDLE_SECONDS) -> None:
        """Stop accepting, and wait until all connections and requests have ended, or for a time.

        No request is lost: running requests and later requests on open connections are answered,
        with `connection: close`.

        Args:
            seconds: the longest time to wait.
            idle_seconds: the time after which an idle connection is closed.
        """
        if not self.started:
            return
        self.ticks_per_check = 1
        for server in self.servers:
            server.close()
        until, state = asyncio.get_running_loop().time() + seconds, self.server_state
        while (state.connections or state.tasks) and asyncio.get_running_loop().time() < until:
            for connection in self._connections():
                if not connection.is_leaving:
                    connection.leave(idle_seconds)
            await asyncio.sleep(_POLL_SECONDS)  # uvicorn's sets have no notification

    def _connections(self) -> list[HttpConnection]:
        return [
            connection for connection in self.server_state.connections
            if isinstance(connection, HttpConnection)
        ]  # fmt: skip

    async def stop(self, grace_seconds: float) -> None:
        """Stop accepting, and wait for running requests within the grace period."""
        self.config.timeout_graceful_shutdown = max(1, round(grace_seconds))
        self.should_exit = True
        if self._serving is not None:
            await self._serving
