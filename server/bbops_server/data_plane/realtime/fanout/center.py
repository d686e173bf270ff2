"""The one place that numbers messages and knows who is there, for all processes of a server.

What it answers to a subscription and the messages behind it take one ordered way to each process:
what the answer holds was before, what follows it is after. So history and live meet without a lock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from time import monotonic
from typing import Final, Protocol

from bbops_server.data_plane.realtime.fanout.frames import (
    Down,
    Join,
    Look,
    Moved,
    Part,
    Said,
    Say,
    Seen,
    Up,
)
from bbops_server.data_plane.realtime.fanout.log import Log
from bbops_server.data_plane.realtime.limits import MOST_LOGS, MOST_LOGS_BYTES, MOST_PRESENT

_IDLE_SECONDS: Final = 60.0
"""How long a topic without subscribers and messages keeps its epoch."""

_SWEEP_SECONDS: Final = 10.0

Key = tuple[str, str]


class Peer(Protocol):
    """A process with subscribers."""

    def tell(self, frame: Down) -> None:
        """Tell it something, in order."""
        ...


class _Room:
    """One topic: its messages, and its clients with the process that each is connected to."""

    __slots__ = ("clients", "log", "peers")

    def __init__(self) -> None:
        self.log = Log()
        self.clients: dict[str, tuple[Peer, bytes | None]] = {}
        self.peers: Counter[Peer] = Counter()

    @property
    def present(self) -> dict[str, bytes]:
        return {
            client: shown for client, (_, shown) in self.clients.items() if shown is not None
        }  # fmt: skip


class Center:
    """All topics. It does no I/O: processes are peers."""

    def __init__(self, now: Callable[[], float] = monotonic) -> None:
        """`now` gives the seconds of a clock that is never set."""
        self._now, self._swept_at = now, now()
        self._rooms: dict[Key, _Room] = {}
        self._peers: dict[Peer, None] = {}

    def add(self, peer: Peer) -> None:
        """Let a process take part."""
        self._peers[peer] = None

    def remove(self, peer: Peer) -> None:
        """Let go of a process, and of every client that was connected to it."""
        self._peers.pop(peer, None)
        for (project, name), room in tuple(self._rooms.items()):
            if room.peers.pop(peer, 0):
                gone = [client for client, (of, _) in room.clients.items() if of is peer]
                for client in gone:
                    self._part(room, Part(project, name, client))

    def hear(self, peer: Peer | None, frame: Up) -> None:
        """Do what a process asks; `peer` is None for one without subscribers."""
        if self._now() > self._swept_at + _SWEEP_SECONDS:
            self._sweep()
        if isinstance(frame, Say):
            self._say(peer, frame)
        elif isinstance(frame, Join) and peer is not None:
            self._join(peer, frame)
        elif isinstance(frame, Part):
            room = self._rooms.get((frame.project, frame.name))
            if room is not None:
                self._part(room, frame)
        elif isinstance(frame, Look) and peer is not None:
            self._look(peer, frame)

    def tell_all(self, frame: Down) -> None:
        """Tell every process something."""
        for peer in self._peers:
            peer.tell(frame)

    def _sweep(self) -> None:
        """Forget messages and topics that have had their time."""
        now = self._swept_at = self._now()
        size = 0
        for key, room in tuple(self._rooms.items()):
            log = room.log
            log.trim(now)
            size += log.bytes
            if not room.clients and not log.bytes and log.used_at + _IDLE_SECONDS < now:
                del self._rooms[key]
        if size > MOST_LOGS_BYTES:
            self._make_room(size)

    def _make_room(self, size: int) -> None:
        for room in sorted(self._rooms.values(), key=lambda one: one.log.used_at):
            if size <= MOST_LOGS_BYTES:
                return
            size -= room.log.bytes
            room.log.empty()

    def _room(self, key: Key) -> _Room:
        room = self._rooms.get(key)
        if room is None:
            if len(self._rooms) >= MOST_LOGS:
                self._forget_one()
            room = self._rooms[key] = _Room()
        return room

    def _forget_one(self) -> None:
        idle = next((key for key, room in self._rooms.items() if not room.clients), None)
        if idle is not None:
            del self._rooms[idle]

    def _say(self, peer: Peer | None, say: Say) -> None:
        if not say.is_counted:
            said = Said(say.project, say.name, say.data, 0)
            for other in self._peers:
                if other is not peer:
                    other.tell(said)
            return
        room = self._room((say.project, say.name))
        number = room.log.add(say.data, self._now(), say.size, say.seconds)
        said = Said(say.project, say.name, say.data, number if say.size else 0)
        for other in room.peers:
            other.tell(said)

    def _join(self, peer: Peer, join: Join) -> None:
        room = self._room((join.project, join.name))
        if join.shown is not None and len(room.clients) >= MOST_PRESENT:
            peer.tell(Seen(join.ask, refusal=f"the topic has {MOST_PRESENT:,} subscribers"))
            return
        if join.shown is not None:
            moved = Moved(join.project, join.name, join.client, join.shown, is_there=True)
            for other in room.peers:
                other.tell(moved)
        room.clients[join.client] = peer, join.shown
        room.peers[peer] += 1
        log, now = room.log, self._now()
        log.used_at = now
        missed = log.since(join.epoch, join.offset, now) if join.recover else None
        peer.tell(Seen(join.ask, log.epoch, log.offset, missed is not None, missed or []))

    def _part(self, room: _Room, part: Part) -> None:
        peer, shown = room.clients.pop(part.client, (None, None))
        if peer is None:
            return
        room.log.used_at = self._now()
        if room.peers[peer] <= 1:
            del room.peers[peer]
        else:
            room.peers[peer] -= 1
        if shown is not None:
            moved = Moved(part.project, part.name, part.client, shown, is_there=False)
            for other in room.peers:
                other.tell(moved)

    def _look(self, peer: Peer, look: Look) -> None:
        room = self._room((look.project, look.name))
        log = room.log
        found = log.part(look.after, look.most, self._now(), is_reverse=look.is_reverse)
        peer.tell(Seen(look.ask, log.epoch, log.offset, messages=found, present=room.present))
