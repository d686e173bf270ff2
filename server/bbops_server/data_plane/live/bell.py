"""How data processes tell the work process that something waits for it: a datagram, no more."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Final

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
