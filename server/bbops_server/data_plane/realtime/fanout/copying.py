"""Keep a copy of the log that servers share, and tell the processes of this one what is new."""

from __future__ import annotations

from collections import defaultdict, deque

from bbops.runtime.realtime.shared import CAME, GONE, KEPT, LEFT, TOLD, Entry, Numbered, Snapshot
from bbops_server.data_plane.realtime.fanout.center import Center
from bbops_server.data_plane.realtime.fanout.frames import Lost, Moved, Said
from bbops_server.data_plane.realtime.fanout.log import Numbers


class Copying:
    """The copy of one project's log in the center of a server."""

    def __init__(self, center: Center, project: str) -> None:
        """Copy nothing yet. Raises: ValueError: nobody shares the project."""
        shared = center.shared(project)
        if shared is None:
            raise ValueError("the project is not shared")
        self._center, self._project, self.shared = center, project, shared
        self._owner, self._others = "", defaultdict[str, set[tuple[str, str]]](set)
        self._noted: dict[str, int] = {}
        self._due: deque[tuple[float, dict[str, int]]] = deque()

    @property
    def number(self) -> int:
        """Of the newest entry that was copied."""
        return self.shared.numbers.offset

    @property
    def others(self) -> set[str]:
        """Servers with clients that somebody sees."""
        return {owner for owner, clients in self._others.items() if clients}

    def begin(self, found: Snapshot, owner: str) -> None:
        """Take what is kept, and answer those who have waited for that."""
        shared, self._owner = self.shared, owner
        shared.numbers = Numbers(found.epoch, found.number)
        shared.floor, shared.dropped = found.floor, dict(found.dropped)
        self._noted = dict(found.dropped)
        self._due.clear()
        for message in found.messages:
            self._keep(message)
        for one in found.present:
            self._come(one.owner, one.name, one.client, one.shown)
        shared.is_ready = True
        self.answer(shared.held)

    def answer(self, most: int) -> None:
        """Answer those who have waited longest: the copy holds all that was written before."""
        for peer, frame in self.shared.release(most):
            self._center.do(peer, frame)

    def end(self) -> None:
        """Let subscribers come back: they recover from the copy that is taken next."""
        if self.shared.is_ready:
            self.shared.is_ready = False
            self.shared.forget_clients()
            self._others.clear()
            self._center.forget_rooms(self._project)
            self._center.tell_all(Lost(self._project))

    def give_up(self) -> None:
        """Answer who has waited for long."""
        self.shared.give_up(self._center.now())

    def take(self, one: Numbered) -> None:
        """Take an entry, the next one, and tell of it."""
        entry = one.entry
        self.shared.numbers.offset = one.number
        if entry.kind == KEPT:
            self._keep(one)
            said = Said(self._project, entry.name, entry.data, one.number)
            self._center.room(self._project, entry.name).tell(said)
        elif entry.kind == GONE:
            self._bury(entry.name)
        elif one.owner != self._owner:
            self._take_from_other(one.owner, entry)

    def dropped(self, seconds: float) -> dict[str, int]:
        """Return up to where messages have not been kept for so long, by topic.

        Each number is returned once. What is dropped at once may not have been read by others.
        """
        now, past = self._center.now(), dict[str, int]()
        self._due.append((now, self._newly_dropped(now)))
        while self._due and self._due[0][0] <= now - seconds:
            past |= self._due.popleft()[1]
        return past

    def _newly_dropped(self, now: float) -> dict[str, int]:
        found = dict(self.shared.dropped)
        for name, room in self._center.rooms_of(self._project).items():
            room.log.trim(now)
            found[name] = room.log.dropped
        floor, before, self._noted = self.shared.floor, self._noted, found
        return {name: to for name, to in found.items() if to > before.get(name, floor)}

    def _keep(self, one: Numbered) -> None:
        entry = one.entry
        log = self._center.room(self._project, entry.name).log
        at = self._center.now() - max(0.0, one.age)
        log.add(entry.data, at, entry.size, entry.seconds, number=one.number)

    def _take_from_other(self, owner: str, entry: Entry) -> None:
        project, name = self._project, entry.name
        if entry.kind == TOLD:
            self._center.tell_all(Said(project, name, entry.data, 0))
            return
        if entry.kind == CAME:
            self._come(owner, name, entry.client, entry.data)
            room = self._center.room(project, name)
            room.tell(Moved(project, name, entry.client, entry.data, is_there=True))
        elif entry.kind == LEFT:
            self._leave(owner, name, entry.client)

    def _come(self, owner: str, name: str, client: str, shown: bytes) -> None:
        self._others[owner].add((name, client))
        self._center.room(self._project, name).others[client] = shown

    def _leave(self, owner: str, name: str, client: str) -> None:
        self._others[owner].discard((name, client))
        room = self._center.room(self._project, name)
        shown = room.others.pop(client, None)
        if shown is not None:
            room.tell(Moved(self._project, name, client, shown, is_there=False))

    def _bury(self, owner: str) -> None:
        for name, client in tuple(self._others[owner]):
            self._leave(owner, name, client)
        del self._others[owner]
