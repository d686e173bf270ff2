"""The way between processes of one host: a stream over a Unix socket, which is tried again.

Not datagrams: the queue of a Unix datagram socket holds ten to some hundred messages, and a
function that publishes more than that in one go would lose them.
"""

from __future__ import annotations

import asyncio
import os
import socket
from abc import ABC, abstractmethod
from functools import partial
from time import monotonic
from typing import Any, Final

from bbops_server.data_plane.realtime.fanout.center import Center
from bbops_server.data_plane.realtime.fanout.end import End
from bbops_server.data_plane.realtime.fanout.frames import Down, Frames, Hello, Say, Up, pack

MOST_BUFFERED: Final = 64 << 20
"""Bytes that wait for the other process; one that reads so slowly hangs, and is cut off."""

READY_SECONDS: Final = 5.0
"""How long a subscription or a message waits for the center, as while a process is replaced."""

MOST_WAITING: Final = 1 << 20
"""Bytes of messages that wait for the center; those after them are lost."""

CENTER: Final = "--center"
"""Stands before the path of the center's socket, where a process is started."""

_AGAIN_SECONDS: Final = (0.05, 1.0)


class _Stream(asyncio.Protocol, ABC):
    """One end of a connection."""

    def __init__(self, kind: Any) -> None:
        self._frames = Frames(kind)
        self._transport: Any = None
        self._waiting = bytearray()
        self.is_open = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport, self.is_open = transport, True
        self._transport.set_write_buffer_limits(high=MOST_BUFFERED)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self.is_open = False
        self.ended()

    def pause_writing(self) -> None:
        """Cut off a process that does not read."""
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        try:
            found = self._frames.feed(data)
        except ValueError:
            self._transport.abort()
            return
        for frame in found:
            self.received(frame)

    def write(self, frame: Any) -> None:
        """Send a frame soon, together with others of this turn of the loop."""
        if not self.is_open:
            return
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._flush)
        self._waiting += pack(frame)

    def _flush(self) -> None:
        data, self._waiting = self._waiting, bytearray()
        if self.is_open:
            self._transport.write(data)

    def close(self) -> None:
        """End the connection."""
        if self._transport is not None:
            self._transport.abort()

    @abstractmethod
    def received(self, frame: Any) -> None:
        """Take a frame."""

    @abstractmethod
    def ended(self) -> None:
        """Take that no more come."""


class RemoteEnd(End):
    """The end of a process whose center is in another one."""

    def __init__(self, path: str) -> None:
        """`path` is of the socket at which the center listens, once its process runs."""
        super().__init__()
        self._path = path
        self._is_ready = asyncio.Event()
        self._connecting: asyncio.Task[None] | None = None
        self._stream: _Upward | None = None
        self._said: list[tuple[float, Say]] = []  # in wait for the center, and since when

    def open(self) -> None:
        """Keep connected from now on."""
        if self._connecting is None:
            self._connecting = asyncio.create_task(self._keep_connected())

    async def ready(self) -> bool:
        """Return True once the center can be asked; False where it cannot be for long."""
        self.open()
        try:
            async with asyncio.timeout(READY_SECONDS):
                await self._is_ready.wait()
        except TimeoutError:
            return False
        return True

    def send(self, frame: Up) -> None:
        """Send a frame; where there is no center for long it is lost, as its answer says.

        A process that has just started answers requests before it has found the center.
        """
        if self._stream is not None and self._is_ready.is_set():
            self._stream.write(frame)
        elif isinstance(frame, Say):
            if sum(len(one.data) for _, one in self._said) + len(frame.data) <= MOST_WAITING:
                self._said.append((monotonic(), frame))
        else:
            ask = getattr(frame, "ask", None)
            on_seen = self._asks.pop(ask, None) if ask is not None else None
            if on_seen is not None:
                on_seen(None)

    def close(self) -> None:
        """End the connection."""
        if self._connecting is not None:
            self._connecting.cancel()
        if self._stream is not None:
            self._stream.close()

    def tell(self, frame: Down) -> None:
        """Take a frame of the center."""
        if isinstance(frame, Hello):
            self._is_ready.set()
            waiting, self._said = self._said, []
            for since, said in waiting:
                if monotonic() - since < READY_SECONDS:
                    self.send(said)
        super().tell(frame)

    async def _keep_connected(self) -> None:
        loop, (pause, longest) = asyncio.get_running_loop(), _AGAIN_SECONDS
        while True:
            stream = _Upward(self, loop.create_future())
            try:
                self._stream = stream
                await loop.create_unix_connection(partial(_itself, stream), self._path)
                pause = _AGAIN_SECONDS[0]
                await stream.gone
            except OSError:
                pause = min(2 * pause, longest)
            finally:
                self._is_ready.clear()
                self._stream = None
            self.lose()
            await asyncio.sleep(pause)


class _Upward(_Stream):
    def __init__(self, end: RemoteEnd, gone: asyncio.Future[None]) -> None:
        super().__init__(Down)
        self._end, self.gone = end, gone

    def received(self, frame: Down) -> None:
        self._end.tell(frame)

    def ended(self) -> None:
        if not self.gone.done():
            self.gone.set_result(None)


def _itself(stream: _Upward) -> _Upward:
    return stream


class _Downward(_Stream):
    """A process, as the center sees it."""

    def __init__(self, center: Center) -> None:
        super().__init__(Up)
        self._center = center

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._center.add(self)
        self.tell(Hello())

    def tell(self, frame: Down) -> None:
        self.write(frame)

    def received(self, frame: Up) -> None:
        self._center.hear(self, frame)

    def ended(self) -> None:
        self._center.remove(self)


async def listen(center: Center, descriptor: int) -> asyncio.Server:
    """Let processes connect to a center, at an inherited socket that listens."""
    os.set_inheritable(descriptor, False)  # noqa: FBT003 - its signature
    listening = socket.socket(fileno=descriptor)
    listening.setblocking(False)  # noqa: FBT003 - its signature
    return await asyncio.get_running_loop().create_unix_server(
        lambda: _Downward(center), sock=listening
    )
