"""A process's end of the way to the center: in the same process, or over a socket."""

from __future__ import annotations

import asyncio
import os
import socket
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from itertools import count
from time import monotonic
from typing import Any, Final, Protocol

from bbops.runtime.realtime.topics import Kept
from bbops_server.data_plane.realtime.fanout.center import Center
from bbops_server.data_plane.realtime.fanout.frames import (
    Changed,
    Down,
    Frames,
    Hello,
    Join,
    Look,
    Lost,
    Moved,
    Part,
    Said,
    Say,
    Seen,
    Up,
    pack,
)

OnSeen = Callable[[Seen | None], None]
"""Takes an answer where it stands among the messages; None where there will be none."""


class Subscribers(Protocol):
    """The subscribers of one project in this process."""

    def deliver(self, name: str, data: bytes, offset: int) -> None:
        """Give a message to those of a topic."""
        ...

    def move(self, moved: Moved) -> None:
        """Tell those of a topic who has come or gone."""
        ...

    def change(self, changed: Changed) -> None:
        """Tell those of topics about rows what has changed."""
        ...

    def lose(self) -> None:
        """Let those of counted topics subscribe again: nobody knows what they have missed."""
        ...


class End(ABC):
    """Takes messages up to the center, and gives those that come down to subscribers."""

    def __init__(self) -> None:
        self._subscribers: dict[str, Subscribers] = {}
        self._asks: dict[int, OnSeen] = {}
        self._numbers = count(1)
        self.published: Callable[[str, bytes], None] | None = None
        """Is called with the topic and the message of each that is sent from here."""

    def take(self, project: str, subscribers: Subscribers) -> None:
        """Give messages of a project to these from now on."""
        self._subscribers[project] = subscribers

    def leave(self, project: str) -> None:
        """Give messages of a project to nobody."""
        self._subscribers.pop(project, None)

    def open(self) -> None:  # noqa: B027 - it may be there already
        """Find the center from now on."""

    async def ready(self) -> bool:
        """Return True once the center can be asked; False where it cannot be for long."""
        return True

    # ---- up
    def publish(self, project: str, name: str, data: bytes, kept: Kept | None, *,
                is_counted: bool) -> None:  # fmt: skip
        """Send a message, at most once."""
        if self.published is not None:
            self.published(name, data)
        size, seconds = (kept.size, kept.seconds) if kept else (0, 0.0)
        if not is_counted and project in self._subscribers:
            self._subscribers[project].deliver(name, data, 0)
        self.send(Say(project, name, data, is_counted, size, seconds))

    def join(self, on_seen: OnSeen, **given: object) -> None:
        """Let a client subscribe; arguments as those of `Join`."""
        self._ask(on_seen, lambda number: Join(number, **given))  # type: ignore[arg-type]

    def part(self, project: str, name: str, client: str) -> None:
        """Let a client go."""
        self.send(Part(project, name, client))

    async def look(self, project: str, name: str, **given: object) -> Seen | None:
        """Return who is there and what is kept; arguments as those of `Look`."""
        seen: asyncio.Future[Seen | None] = asyncio.get_running_loop().create_future()
        self._ask(
            lambda found: None if seen.done() else seen.set_result(found),
            lambda number: Look(number, project, name, **given),  # type: ignore[arg-type]
        )
        return await seen

    def _ask(self, on_seen: OnSeen, make: Callable[[int], Up]) -> None:
        number = next(self._numbers)
        self._asks[number] = on_seen
        self.send(make(number))

    @abstractmethod
    def send(self, frame: Up) -> None:
        """Send a frame to the center."""

    # ---- down
    def tell(self, frame: Down) -> None:
        """Take a frame of the center."""
        if isinstance(frame, Seen):
            on_seen = self._asks.pop(frame.ask, None)
            if on_seen is not None:
                on_seen(None if frame.is_away else frame)
        elif not isinstance(frame, Hello):
            found = self._subscribers.get(frame.project)
            if found is not None and isinstance(frame, Said):
                found.deliver(frame.name, frame.data, frame.offset)
            elif found is not None and isinstance(frame, Moved):
                found.move(frame)
            elif found is not None and isinstance(frame, Changed):
                found.change(frame)
            elif found is not None and isinstance(frame, Lost):
                found.lose()

    def lose(self) -> None:
        """Answer all who wait that there is no answer, and let clients come back."""
        waiting, self._asks = self._asks, {}
        for on_seen in waiting.values():
            on_seen(None)
        for found in tuple(self._subscribers.values()):
            found.lose()


class LocalEnd(End):
    """The end of a process that is alone, such as a draft's: the center is here."""

    def __init__(self) -> None:
        super().__init__()
        self._center = Center()
        self._center.add(self)

    def send(self, frame: Up) -> None:
        """Do it at once."""
        self._center.hear(self, frame)


class CenterEnd(End):
    """The end of the process that has the center, and no clients."""

    def __init__(self, center: Center) -> None:
        super().__init__()
        self._center = center

    def send(self, frame: Up) -> None:
        """Do it at once."""
        self._center.hear(None, frame)


# ---- The way between processes of one host: a stream over a Unix socket, which is tried again
# Not datagrams: the queue of a Unix datagram socket holds ten to some hundred messages, and a
# function that publishes more than that in one go would lose them.

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
