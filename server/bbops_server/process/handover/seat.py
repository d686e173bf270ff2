"""A server's exclusive use of a state folder, and its sockets from a service manager."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bbops_server.process.handover.taking import Predecessor


@dataclass(frozen=True, slots=True)
class StateSeat:
    """The lock of a state folder, with the predecessor that shares it.

    Attributes:
        state: the state folder.
        lock: the descriptor of its lock, which the predecessor may hold as well.
        listening: the socket for successors; None if the server does not hand over.
        predecessor: the server to replace; None without one.
        patience_seconds: the time for which children of a killed server may still use the ports.
    """

    state: Path
    lock: int
    listening: socket.socket | None = None
    predecessor: Predecessor | None = None
    patience_seconds: float = 0.0


# ---- Sockets that a service manager such as systemd has opened for this process
# Source: sd_listen_fds(3).

_FIRST: Final = 3
_VARIABLES: Final = ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES")


def take_sockets() -> list[socket.socket]:
    """Return the passed listening sockets on the first call, and no sockets on later calls."""
    variables = {name: os.environ.pop(name, "") for name in _VARIABLES}
    if variables["LISTEN_PID"] != str(os.getpid()) or not variables["LISTEN_FDS"].isdecimal():
        return []
    return [_adopt(_FIRST + number) for number in range(int(variables["LISTEN_FDS"]))]


def _adopt(descriptor: int) -> socket.socket:
    os.set_inheritable(descriptor, False)  # noqa: FBT003 - its signature
    return socket.socket(fileno=descriptor)
