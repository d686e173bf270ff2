"""The place in a state folder that one server has at a time."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from pathlib import Path

from bbops_server.process.handover.taking import Predecessor


@dataclass(frozen=True, slots=True)
class StateSeat:
    """What a server has before it starts.

    Attributes:
        state: the folder.
        lock: descriptor of the lock on it, which its predecessor may hold as well.
        listening: where a successor asks; None of a server that hands over to nobody.
        predecessor: the server whose place it takes, None without one.
        patience_seconds: how long ports may be taken by what is left of a server that was killed.
    """

    state: Path
    lock: int
    listening: socket.socket | None = None
    predecessor: Predecessor | None = None
    patience_seconds: float = 0.0
