"""Sockets that a service manager such as systemd has opened for this process.

Source: sd_listen_fds(3).
"""

from __future__ import annotations

import os
import socket
from typing import Final

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
