"""The one place that numbers messages and knows who is there, for all processes of a server.

What it answers to a subscription and the messages behind it take one ordered way to each process:
what the answer holds was before, what follows it is after. So history and live meet without a lock.

Servers that share a database have a center each. There a log in the database numbers what has a
history, see `shared`; a center follows that log, and answers from its copy of it.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Final

from bbops.runtime.realtime.shared import CAME, LEFT, Entry
from bbops_server.data_plane.realtime.codes import MOST_LOGS, MOST_LOGS_BYTES, MOST_PRESENT
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
from bbops_server.data_plane.realtime.fanout.room import Log, Numbers, Peer, Room
from bbops_server.data_plane.realtime.fanout.shared import Shared, is_shared

_IDLE_SECONDS: Final = 60.0
"""How long a topic without subscribers and messages keeps its epoch."""

_SWEEP_SECONDS: Final = 10.0

Key = tuple[str, str]


class Center:
    """All topics. It does no I/O: processes are peers."""

    def __init__(self, now: Callable[[], float] = monotonic, *, has_servers: bool = False) -> None:
        """Begin without topics.

        Args:
            now: gives the seconds of a clock that is never set.
            has_servers: other servers may serve the same projects.
        """
        self.now, self._swept_at, self._has_servers = now, now(), has_servers
        self._rooms: dict[Key, Room] = {}
        self._peers: dict[Peer, None] = {}
        self._shared: dict[str, Shared] = {}

    def add(self, peer: Peer) -> None:
        """Let a process take part."""
        self._peers[peer] = None

    def remove(self, peer: Peer) -> None:
        """Let go of a process, and of every client that was connected to it."""
        self._peers.pop(peer, None)
        for shared in self._shared.values():
            shared.forget(peer)
        for (project, name), room in tuple(self._rooms.items()):
            if peer in room.peers:
                gone = [client for client, (of, _) in room.clients.items() if of is peer]
                for client in gone:
                    self._part(room, Part(project, name, client))

    def hear(self, peer: Peer | None, frame: Up) -> None:
        """Do what a process asks; `peer` is None for one without subscribers."""
        if self.now() > self._swept_at + _SWEEP_SECONDS:
            self._sweep()
        shared = self.shared(frame.project)
        if shared is not None and shared.must_wait(frame):
            shared.hold(peer, frame, self.now())
        else:
            self.do(peer, frame)

    def do(self, peer: Peer | None, frame: Up) -> None:
        """Do as `hear`, without waiting for what other servers have written."""
        shared = self.shared(frame.project)
        if isinstance(frame, Say):
            self._say(peer, frame, shared)
        elif isinstance(frame, Join) and peer is not None:
            self._join(peer, frame, shared)
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

    # ---- topics
    def shared(self, project: str) -> Shared | None:
        """Return what several servers know of a project; None where this one is alone."""
        found = self._shared.get(project)
        if found is None and self._has_servers and is_shared(project):
            found = self._shared[project] = Shared()
        return found

    def rooms_of(self, project: str) -> dict[str, Room]:
        """Return the topics of a project that are known here."""
        return {name: room for (of, name), room in self._rooms.items() if of == project}

    def forget_rooms(self, project: str) -> None:
        """Forget all topics of a project."""
        for name in self.rooms_of(project):
            del self._rooms[project, name]

    def room(self, project: str, name: str) -> Room:
        """Return a topic, a new one where it is not known."""
        room = self._rooms.get((project, name))
        if room is None:
            if len(self._rooms) >= MOST_LOGS:
                self._forget_one()
            shared = self.shared(project)
            log = Log(Numbers()) if shared is None else shared.new_log(name)
            room = self._rooms[project, name] = Room(log)
        return room

    def _sweep(self) -> None:
        """Forget messages and topics that have had their time."""
        now = self._swept_at = self.now()
        for shared in self._shared.values():
            shared.give_up(now)
        size = 0
        for key, room in tuple(self._rooms.items()):
            log = room.log
            log.trim(now)
            size += log.bytes
            if room.is_empty and not log.bytes and log.used_at + _IDLE_SECONDS < now:
                self._forget(key)
        if size > MOST_LOGS_BYTES:
            self._make_room(size)

    def _make_room(self, size: int) -> None:
        for room in sorted(self._rooms.values(), key=lambda one: one.log.used_at):
            if size <= MOST_LOGS_BYTES:
                return
            size -= room.log.bytes
            room.log.empty()

    def _forget_one(self) -> None:
        idle = next((key for key, room in self._rooms.items() if room.is_empty), None)
        if idle is not None:
            self._forget(idle)

    def _forget(self, key: Key) -> None:
        log = self._rooms.pop(key).log
        log.empty()
        shared = self._shared.get(key[0])
        if shared is not None:
            shared.remember(key[1], log.dropped)

    # ---- what processes ask
    def _say(self, peer: Peer | None, say: Say, shared: Shared | None) -> None:
        if shared is not None:
            shared.say(say)
        if not say.is_counted:
            said = Said(say.project, say.name, say.data, 0)
            for other in self._peers:
                if other is not peer:
                    other.tell(said)
        elif shared is None or not say.size:
            self._number(say, is_alone=shared is None)

    def _number(self, say: Say, *, is_alone: bool) -> None:
        room, number, now = self.room(say.project, say.name), 0, self.now()
        if is_alone:
            number = room.log.add(say.data, now, say.size, say.seconds)
        room.log.used_at = now
        room.tell(Said(say.project, say.name, say.data, number if say.size else 0))

    def _join(self, peer: Peer, join: Join, shared: Shared | None) -> None:
        room = self.room(join.project, join.name)
        if join.shown is not None and room.count >= MOST_PRESENT:
            peer.tell(Seen(join.ask, refusal=f"the topic has {MOST_PRESENT:,} subscribers"))
            return
        if join.shown is not None:
            room.tell(Moved(join.project, join.name, join.client, join.shown, is_there=True))
            if shared is not None:
                shared.put(Entry(CAME, join.name, join.client, join.shown))
        room.add(join.client, peer, join.shown)
        log, now = room.log, self.now()
        log.used_at = now
        missed = log.since(join.epoch, join.offset, now) if join.recover else None
        at = log.numbers
        peer.tell(Seen(join.ask, at.epoch, at.offset, missed is not None, missed or []))

    def _part(self, room: Room, part: Part) -> None:
        shown = room.remove(part.client)
        room.log.used_at = self.now()
        if shown is not None:
            room.tell(Moved(part.project, part.name, part.client, shown, is_there=False))
            shared = self._shared.get(part.project)
            if shared is not None:
                shared.put(Entry(LEFT, part.name, part.client))

    def _look(self, peer: Peer, look: Look) -> None:
        room = self.room(look.project, look.name)
        log, at = room.log, room.log.numbers
        found = log.part(look.after, look.most, self.now(), is_reverse=look.is_reverse)
        peer.tell(Seen(look.ask, at.epoch, at.offset, messages=found, present=room.present))
