"""Broadcasts: one reader of a subject sends the same bytes to all its viewers.

A reader runs only while it has viewers. A viewer that does not keep up is closed; browsers connect
again, and continue after the last event that they have received.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

BEAT_SECONDS: Final = 0.25
PING_SECONDS: Final = 15.0
"""The longest pause between frames: proxies close silent connections."""
PING: Final = b":\n\n"
MAX_VIEWERS: Final = 1_000
MAX_VIEWERS_OF_USER: Final = 50
_MAX_WAITING: Final = 32
"""Frames that wait for a viewer."""
_MOST_SLICES: Final = 200
_SLICE_SECONDS: Final = 0.005
_log = logging.getLogger(__name__)

Read = Callable[[], Awaitable[bytes]]
"""Returns the next frame of a subject; empty if nothing has changed."""


class TooManyViewers(Exception):
    """The server or the user has as many viewers as it may have, or the server is about to stop."""


class Viewer:
    """A connection that receives frames."""

    def __init__(self) -> None:
        self._frames: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._is_closed = False

    def put(self, frame: bytes) -> None:
        """Add a frame; close the viewer if too many wait."""
        if self._frames.qsize() >= _MAX_WAITING:
            self.close()
        elif not self._is_closed:
            self._frames.put_nowait(frame)

    def close(self) -> None:
        """End the connection after the frames that wait."""
        if not self._is_closed:
            self._is_closed = True
            self._frames.put_nowait(None)

    async def next(self) -> bytes | None:
        """Return the next frame, or None at the end."""
        return await self._frames.get()


class _Broadcast:
    """A subject, its viewers, and the task that reads it."""

    def __init__(self, read: Read) -> None:
        self.viewers: set[Viewer] = set()
        self._read = read
        self._is_failing = False
        self.task = asyncio.create_task(self._follow())

    async def _follow(self) -> None:
        clock = asyncio.get_running_loop().time
        ping_at = clock() + PING_SECONDS
        while True:
            frame = await self._read_frame()
            if not frame and clock() >= ping_at:
                frame = PING
            if frame:
                ping_at = clock() + PING_SECONDS
                await self._send(frame)
            await asyncio.sleep(BEAT_SECONDS)

    async def _read_frame(self) -> bytes:
        try:
            frame = await self._read()
        except Exception as error:  # noqa: BLE001 - such as a damaged file; pages stay usable
            if not self._is_failing:
                _log.warning("the live view cannot be read: %s; retrying", error)
            self._is_failing = True
            return b""
        self._is_failing = False
        return frame

    async def _send(self, frame: bytes) -> None:
        """Send a frame to one viewer after another, in about a second; in groups beyond 200.

        One burst would delay the live API, which may share a core with the control plane.
        """
        viewers = [*self.viewers]
        size = max(1, -(-len(viewers) // _MOST_SLICES))
        for start in range(0, len(viewers), size):
            if start:
                await asyncio.sleep(_SLICE_SECONDS)
            for viewer in viewers[start : start + size]:
                viewer.put(frame)


class Broadcasts:
    """The broadcasts of a server, by subject."""

    def __init__(self) -> None:
        self._running: dict[Hashable, _Broadcast] = {}
        self._viewers: dict[Viewer, str] = {}
        """With the user of each."""
        self._is_closed = False

    @contextmanager
    def view(
        self, subjects: Mapping[Hashable, Callable[[], Read]], user: str = ""
    ) -> Iterator[Viewer]:
        """Open a viewer of some subjects; the functions create the readers that do not run yet.

        Raises:
            TooManyViewers: there are too many, or the server stops.
        """
        if self._is_closed or self._is_full(user):
            raise TooManyViewers
        viewer = Viewer()
        self._viewers[viewer] = user
        for key, create in subjects.items():
            if key not in self._running:
                self._running[key] = _Broadcast(create())
            self._running[key].viewers.add(viewer)
        try:
            yield viewer
        finally:
            del self._viewers[viewer]
            for key in subjects:
                self._leave(key, viewer)

    def _is_full(self, user: str) -> bool:
        own = sum(other == user for other in self._viewers.values())
        return len(self._viewers) >= MAX_VIEWERS or own >= MAX_VIEWERS_OF_USER

    def _leave(self, key: Hashable, viewer: Viewer) -> None:
        broadcast = self._running[key]
        broadcast.viewers.discard(viewer)
        if not broadcast.viewers:
            del self._running[key]
            broadcast.task.cancel()

    @property
    def subjects(self) -> int:
        """The number of readers that run."""
        return len(self._running)

    def close(self) -> None:
        """End all connections, and accept no more."""
        self._is_closed = True
        for viewer in self._viewers:
            viewer.close()
