"""A server's exclusive use of a state folder."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from pathlib import Path

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
