"""One topic: its messages, who is there, and which processes have subscribers."""

from __future__ import annotations

from collections import Counter
from typing import Protocol

from bbops_server.data_plane.realtime.fanout.frames import Down
from bbops_server.data_plane.realtime.fanout.log import Log


class Peer(Protocol):
    """A process with subscribers."""

    def tell(self, frame: Down) -> None:
        """Tell it something, in order."""
        ...


class Room:
    """One topic.

    Attributes:
        clients: those of this server, each with its process and what is shown of it.
        others: those of other servers that are shown.
    """

    __slots__ = ("clients", "log", "others", "peers")

    def __init__(self, log: Log) -> None:
        self.log = log
        self.clients: dict[str, tuple[Peer, bytes | None]] = {}
        self.others: dict[str, bytes] = {}
        self.peers: Counter[Peer] = Counter()

    @property
    def is_empty(self) -> bool:
        """Whether nobody is there."""
        return not self.clients and not self.others

    @property
    def count(self) -> int:
        """How many clients there are."""
        return len(self.clients) + len(self.others)

    @property
    def present(self) -> dict[str, bytes]:
        """What is shown of clients."""
        here = {one: shown for one, (_, shown) in self.clients.items() if shown is not None}
        return here | self.others

    def tell(self, frame: Down) -> None:
        """Tell every process with subscribers."""
        for peer in tuple(self.peers):  # one in this process may close its last client for it
            peer.tell(frame)

    def add(self, client: str, peer: Peer, shown: bytes | None) -> None:
        """Let a client of this server in."""
        self.clients[client] = peer, shown
        self.peers[peer] += 1

    def remove(self, client: str) -> bytes | None:
        """Let a client of this server go; return what was shown of it."""
        peer, shown = self.clients.pop(client, (None, None))
        if peer is not None:
            self.peers[peer] -= 1
            if self.peers[peer] <= 0:
                del self.peers[peer]
        return shown
