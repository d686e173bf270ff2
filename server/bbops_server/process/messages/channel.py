"""A connection to another process."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress

from bbops_server.process.messages.frames import (
    LENGTH_BYTES,
    EventFrame,
    Frame,
    encode,
    pack,
    read_size,
    unpack,
)
from bbops_server.process.messages.request import EventMessage


class ProcessChannel:
    """Reads and writes frames."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._posting: set[asyncio.Task[None]] = set()

    @classmethod
    async def open(cls, end: socket.socket) -> ProcessChannel:
        """Open a channel on one end of a `socket.socketpair()`."""
        return cls(*await asyncio.open_unix_connection(sock=end))

    @classmethod
    async def connect(cls, path: str) -> ProcessChannel:
        """Connect to a Unix socket. Raises: OSError: the connection is refused."""
        return cls(*await asyncio.open_unix_connection(path))

    async def read(self) -> Frame | None:
        """Return the next frame, None once the other process is gone.

        Raises:
            ServerError: the bytes are not a frame.
        """
        try:
            size = read_size(await self._reader.readexactly(LENGTH_BYTES))
            data = await self._reader.readexactly(size)
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        return unpack(data)

    async def write(self, frame: Frame) -> None:
        """Send a frame.

        Raises:
            ServerError: the frame exceeds MAX_FRAME_BYTES; nothing was sent.
            ConnectionError: the other process is gone.
        """
        self._writer.write(pack(frame))
        await self._writer.drain()

    def post(self, event: EventMessage) -> None:
        """Send an event in the background; drop it if the other process is gone."""
        task = asyncio.create_task(self._post(event))
        self._posting.add(task)
        task.add_done_callback(self._posting.discard)

    @property
    def waiting(self) -> int:
        """The number of unsent events."""
        return len(self._posting)

    async def _post(self, event: EventMessage) -> None:
        with suppress(ConnectionError):
            await self.write(EventFrame(encode(event)))

    async def close(self) -> None:
        """Close the connection; the other process reads its end."""
        self._writer.close()
        with suppress(ConnectionError):
            await self._writer.wait_closed()
