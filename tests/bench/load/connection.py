"""One keep-alive HTTP connection that has one request under way at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

import httptools


class Connection(asyncio.Protocol):
    """Sends bytes and calls back with the status of the whole answer; 0 when it is cut off."""

    def __init__(self, answered: Callable[[Connection, int], None]) -> None:
        self._answered = answered
        self._parser = httptools.HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None
        self.is_waiting = False
        self.sent_at = 0.0

    @classmethod
    async def open(cls, port: int, answered: Callable[[Connection, int], None]) -> Connection:
        """Connect to a port of this machine."""
        loop = asyncio.get_running_loop()
        _, made = await loop.create_connection(lambda: cls(answered), "127.0.0.1", port)
        return made

    def send(self, request: bytes) -> None:
        """Send a request."""
        assert self._transport is not None
        self.is_waiting = True
        self._transport.write(request)

    def close(self) -> None:
        """Close, without a word to anybody."""
        self.is_waiting = False
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's has no such base

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_complete(self) -> None:
        self.is_waiting = False
        self._answered(self, self._parser.get_status_code())

    def connection_lost(self, error: Exception | None) -> None:
        if self.is_waiting:
            self.is_waiting = False
            self._answered(self, 0)
