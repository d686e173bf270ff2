"""A topic: its members, its processes, and the log of its messages."""

from __future__ import annotations

import secrets
from collections import Counter, deque
from typing import Final, Protocol

from bbops_server.data_plane.realtime.codes import MOST_LOG_BYTES
from bbops_server.data_plane.realtime.fanout.frames import Down, Numbered


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


# ---- The messages that one topic keeps, and where their numbers stand

_EPOCH_BYTES: Final = 6


class Numbers:
    """The newest number, and the epoch that it belongs to: those of one topic, or of many."""

    __slots__ = ("epoch", "offset")

    def __init__(self, epoch: str = "", offset: int = 0) -> None:
        self.epoch, self.offset = epoch or secrets.token_hex(_EPOCH_BYTES), offset


class Log:
    """Keeps the newest messages, as long as numbers go on.

    Attributes:
        dropped: the number of the newest message that is not kept any more.
    """

    __slots__ = ("_kept", "bytes", "dropped", "numbers", "seconds", "used_at")

    def __init__(self, numbers: Numbers, dropped: int = 0) -> None:
        self.numbers, self.dropped = numbers, dropped
        self._kept: deque[tuple[int, float, bytes]] = deque()
        self.bytes, self.used_at, self.seconds = 0, 0.0, 0.0

    def add(self, data: bytes, at: float, size: int, seconds: float, *, number: int = 0) -> int:
        """Keep a message and return its number; the oldest make room for it.

        Args:
            number: by default the next one.
        """
        numbers = self.numbers
        numbers.offset = max(numbers.offset, number or numbers.offset + 1)
        number = number or numbers.offset
        self.used_at, self.seconds = at, seconds
        self._kept.append((number, at, data))
        self.bytes += len(data)
        while self._kept and (len(self._kept) > size or self.bytes > MOST_LOG_BYTES):
            self._drop()
        self.trim(at)
        return number

    def since(self, epoch: str, offset: int, now: float) -> list[Numbered] | None:
        """Return what was missed since a number; None where that cannot be said."""
        self.trim(now)
        if epoch != self.numbers.epoch or not self.dropped <= offset <= self.numbers.offset:
            return None
        return [(number, data) for number, _, data in self._kept if number > offset]

    def part(self, after: int | None, most: int, now: float, *, is_reverse: bool) -> list[Numbered]:
        """Return at most so many messages behind a number, or before it."""
        self.trim(now)
        found = [(number, data) for number, _, data in self._kept]
        if after is not None:
            found = [one for one in found if (one[0] < after if is_reverse else one[0] > after)]
        return (found[::-1] if is_reverse else found)[:most]

    def trim(self, now: float) -> None:
        """Forget what is too old."""
        while self._kept and self._kept[0][1] <= now - self.seconds:
            self._drop()

    def empty(self) -> None:
        """Forget every message; who comes back cannot recover."""
        while self._kept:
            self._drop()

    def _drop(self) -> None:
        self.dropped, _, data = self._kept.popleft()
        self.bytes -= len(data)
