"""Keep the center of this server in step with the other servers of one project.

A loop of its own, on a connection of its own: no request and no project's transaction waits for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict, deque
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from typing import Final

from bbops.base.errors import DatabaseError
from bbops.runtime.realtime.shared import (
    CAME,
    GONE,
    KEPT,
    LEFT,
    PASSING_SECONDS,
    TOLD,
    Entry,
    Numbered,
    SharedLog,
    Snapshot,
)
from bbops_server.data_plane.realtime.fanout.center import Center
from bbops_server.data_plane.realtime.fanout.frames import Lost, Moved, Said
from bbops_server.data_plane.realtime.fanout.room import Numbers

LOOK_SECONDS: Final = 1.0
"""Between two looks where nobody says that something was written."""

NOTIFY_SECONDS: Final = 0.05
"""Between two times that others are woken: each holds a lock of the whole database server."""

LATE_SECONDS: Final = PASSING_SECONDS * 3 / 4
"""Who has read nothing for longer begins again: entries may have gone before it read them."""

_DROP_SECONDS: Final = 20.0
_AT_ONCE, _BYTES_AT_ONCE = 500, 4 << 20
_log = logging.getLogger(__name__)

Share = Callable[[Callable[[], None]], AbstractAsyncContextManager[SharedLog]]
"""Opens the log; takes what is called when somebody has written."""


class Exchange:
    """The messages of one project, between its servers."""

    def __init__(self, center: Center, project: str, share: Share) -> None:
        """Wait for `run`.

        Args:
            center: numbers and delivers for this server.
            project: what the center knows it by.
            share: opens the log of the project.
        """
        self._copying, self._share = Copying(center, project), share
        self._woken = asyncio.Event()
        self._notified_at = self._looked_at = self._dropped_at = self._read_at = 0.0
        self._owes = False

    async def run(self) -> None:
        """Exchange until cancelled; a database that is away is tried again."""
        shared, is_away = self._copying.shared, False
        shared.woken = self._woken.set
        while True:
            try:
                async with self._share(self._woken.set) as log:
                    self._copying.begin(await log.load(), log.owner)
                    is_away, self._read_at = False, _now()
                    await self._follow(log)
            except DatabaseError as error:
                if not is_away:
                    _log.warning("%s", error.message)
                is_away = True
            except Exception:  # noqa: BLE001 - one project's messages take no other's along
                _log.exception("the exchange of messages failed and starts again")
            finally:
                self._copying.end()
            await asyncio.sleep(LOOK_SECONDS)
            self._copying.give_up()

    async def _follow(self, log: SharedLog) -> None:
        while True:
            self._woken.clear()
            await self._write(log)
            await self._read(log)
            await self._notify(log)
            await self._tidy(log)
            await self._wait()

    async def _write(self, log: SharedLog) -> None:
        while entries := self._copying.shared.take(_AT_ONCE, _BYTES_AT_ONCE):
            await log.write(entries)
            self._owes = True

    async def _read(self, log: SharedLog) -> None:
        if _now() > self._read_at + LATE_SECONDS:
            raise DatabaseError("messages were not read for too long, some may be gone")
        waiting = self._copying.shared.held
        while found := await log.read(self._copying.number):
            for one in found:
                self._copying.take(one)
        self._read_at = _now()
        self._copying.answer(waiting)

    async def _notify(self, log: SharedLog) -> None:
        now = _now()
        if self._owes and now >= self._notified_at + NOTIFY_SECONDS:
            self._owes, self._notified_at = False, now
            await log.notify()

    async def _tidy(self, log: SharedLog) -> None:
        """Look whether servers have ended, and now and then remove what is not kept any more."""
        now = _now()
        if now >= self._looked_at + LOOK_SECONDS:
            self._looked_at = now
            if others := self._copying.others:
                await log.bury(sorted(others))
        if now >= self._dropped_at + _DROP_SECONDS:
            self._dropped_at = now
            await log.drop(self._copying.dropped(PASSING_SECONDS))

    async def _wait(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(NOTIFY_SECONDS if self._owes else LOOK_SECONDS):
                await self._woken.wait()


def _now() -> float:
    return asyncio.get_running_loop().time()


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
