"""Sockets that a service manager has opened for this process, as systemd hands them over.

Source: sd_listen_fds(3).
"""

from __future__ import annotations

import os
import socket
from typing import Final

_FIRST: Final = 3
_VARIABLES: Final = ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES")


def take_sockets() -> list[socket.socket]:
    """Return the listening sockets that are handed over, the first time; none without any."""
    told = {name: os.environ.pop(name, "") for name in _VARIABLES}
    if told["LISTEN_PID"] != str(os.getpid()) or not told["LISTEN_FDS"].isdecimal():
        return []
    return [_adopt(_FIRST + number) for number in range(int(told["LISTEN_FDS"]))]


def _adopt(descriptor: int) -> socket.socket:
    os.set_inheritable(descriptor, False)  # noqa: FBT003 - its signature
    return socket.socket(fileno=descriptor)
