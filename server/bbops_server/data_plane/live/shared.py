"""Shared memory of the data processes, and the bell that wakes the work process."""

from __future__ import annotations

import asyncio
import mmap
import os
import secrets
import socket
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from bbops.runtime.http.rate_limits import SharedCounters, size_bytes

_SALT_BYTES = 64


class Shared:
    """The parent's side: a file without a name, gone with the last process that has it open."""

    def __init__(self, lanes: int) -> None:
        self._lanes = lanes
        self.descriptor = _open_nameless()
        os.truncate(self.descriptor, size_bytes(lanes))
        os.pwrite(self.descriptor, secrets.token_bytes(_SALT_BYTES), 0)

    def words(self, lane: int) -> tuple[str, ...]:
        """Return what a child must hear besides the descriptor, see `join`."""
        return str(lane), str(self._lanes)

    def close(self) -> None:
        """Let go of it; the children keep it."""
        os.close(self.descriptor)


def join(descriptor: int, lane: int, lanes: int) -> SharedCounters:
    """Return this process's lane of the memory it inherited."""
    memory = mmap.mmap(descriptor, 0)
    os.close(descriptor)
    return SharedCounters(memoryview(memory), lane, lanes)


def _open_nameless() -> int:
    if sys.platform == "linux":
        return os.memfd_create("bbops-shared")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


# ---- How data processes tell the work process that something waits for it: a datagram, no more

_MOST: Final = 64


class Bell:
    """The side that rings. The other side may be gone, or slow: it looks by itself as well."""

    def __init__(self, descriptor: int) -> None:
        """Take over an inherited socket."""
        self._socket = _adopt(descriptor)

    def ring(self) -> None:
        """Wake the work process. Costs a microsecond or two."""
        with suppress(OSError):
            self._socket.send(b"\0")


def listen(descriptor: int, heard: Callable[[], None]) -> None:
    """Call back in the running loop when somebody has rung, once for all who did."""
    inherited = _adopt(descriptor)

    def drain() -> None:
        with suppress(BlockingIOError):
            for _ in range(_MOST):
                inherited.recv(1)
        heard()

    asyncio.get_running_loop().add_reader(inherited, drain)


def make_bell() -> tuple[socket.socket, socket.socket]:
    """Return the sides that ring and hear; they are inherited by processes."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)


def _adopt(descriptor: int) -> socket.socket:
    os.set_inheritable(descriptor, False)  # noqa: FBT003 - its signature
    inherited = socket.socket(fileno=descriptor)
    inherited.setblocking(False)  # noqa: FBT003 - its signature
    return inherited
