"""TCP ports for servers whose port has to be known before they start."""

from __future__ import annotations

import atexit
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_LOWEST, _HIGHEST = 20_000, 65_535
_SYSTEM_RANGE: Final = Path("/proc/sys/net/ipv4/ip_local_port_range")
_USUAL_SYSTEM_RANGE: Final = "32768 65535"
_SHOWN_BY_PAGES: Final = ("8000", "8001")
"""A port that contains one of these would be replaced twice in a command of a page."""


def free_port() -> int:
    """Return a port that belongs to this process until it ends.

    The system does not choose it for a connection of another process. A UDP socket with the same
    number marks the port as taken for all processes that run tests.
    """
    for port in _PORTS:
        mark = socket.socket(type=socket.SOCK_DGRAM)
        try:
            mark.bind(("127.0.0.1", port))
            with socket.socket() as probe:  # a server of another program may have the port
                probe.bind(("127.0.0.1", port))
        except OSError:
            mark.close()
        else:
            atexit.register(mark.close)
            return port
    raise AssertionError(f"no port from {_LOWEST} to {_HIGHEST} is free")


def _list_ports() -> Iterator[int]:
    """Yield each port once; the first one depends on the process."""
    known = _SYSTEM_RANGE.read_text() if _SYSTEM_RANGE.exists() else _USUAL_SYSTEM_RANGE
    lowest, highest = map(int, known.split())
    every = [
        port
        for port in range(_LOWEST, _HIGHEST + 1)
        if not any(shown in str(port) for shown in _SHOWN_BY_PAGES)
    ]
    ports = [port for port in every if not lowest <= port <= highest] or every
    start = os.getpid() * 101 % len(ports)
    yield from ports[start:]
    yield from ports[:start]


_PORTS: Final = _list_ports()
