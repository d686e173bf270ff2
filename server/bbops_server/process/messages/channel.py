"""One end of a socket between two processes."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress

from bbops_server.process.messages.frames import (
    LENGTH_BYTES,
    Frame,
    Sent,
    encode,
    pack,
    read_size,
    unpack,
)
from bbops_server.process.messages.request import Event


class Channel:
    """Reads and writes frames; the other end is a process."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._telling: set[asyncio.Task[None]] = set()

    @classmethod
    async def open(cls, end: socket.socket) -> Channel:
        """Take over one end of a `socket.socketpair()`."""
        return cls(*await asyncio.open_unix_connection(sock=end))

    @classmethod
    async def connect(cls, path: str) -> Channel:
        """Connect to a process that listens there. Raises: OSError: none does."""
        return cls(*await asyncio.open_unix_connection(path))

    async def read(self) -> Frame | None:
        """Return the next frame, None when the other process is gone.

        Raises:
            ServerError: what came is not a frame.
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
            ServerError: it is larger than MAX_FRAME_BYTES; nothing was sent.
            ConnectionError: the other process is gone.
        """
        self._writer.write(pack(frame))
        await self._writer.drain()

    def tell(self, event: Event) -> None:
        """Send what nobody asked for, soon; to a process that is gone, nothing."""
        task = asyncio.create_task(self._tell(event))
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    @property
    def waiting(self) -> int:
        """How many events the other process has not taken yet."""
        return len(self._telling)

    async def _tell(self, event: Event) -> None:
        with suppress(ConnectionError):
            await self.write(Sent(encode(event)))

    async def close(self) -> None:
        """Let the other process read an end."""
        self._writer.close()
        with suppress(ConnectionError):
            await self._writer.wait_closed()
