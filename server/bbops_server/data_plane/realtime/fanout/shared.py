"""One project's topics where several servers share its database: what goes there, and has come."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final

from bbops.runtime.realtime.shared import KEPT, TOLD, Entry
from bbops_server.data_plane.realtime.codes import MOST_LOGS
from bbops_server.data_plane.realtime.fanout.frames import Join, Look, Say, Seen, Up
from bbops_server.data_plane.realtime.fanout.room import Log, Numbers, Peer

MOST_WAITING: Final = 50_000
MOST_WAITING_BYTES: Final = 64 << 20
"""What waits for the database; later messages are lost, as the log says once."""

WAIT_SECONDS: Final = 5.0
"""How long a subscription waits for the database."""

_MARK: Final = "shared-"
_log = logging.getLogger(__name__)


def name_shared(name: str) -> str:
    """Return the name of a project which several servers may serve."""
    return f"{_MARK}{name}"


def is_shared(project: str) -> bool:
    """Return whether several servers may serve a project."""
    return project.startswith(_MARK)


class Shared:
    """What waits for the database, and where the copy of its log stands.

    Attributes:
        numbers: of all topics: a topic's position is that of the log.
        is_ready: the copy is complete; until then nobody subscribes.
        woken: is called when something waits.
    """

    def __init__(self) -> None:
        self.numbers, self.is_ready = Numbers(), False
        self.floor, self.dropped = 0, dict[str, int]()
        self.woken: Callable[[], None] = _nothing
        self._waiting, self._bytes, self._is_full = deque[Entry](), 0, False
        self._held: deque[tuple[float, Peer | None, Up]] = deque()

    # ---- to the database
    def say(self, say: Say) -> None:
        """Let a message go to the other servers, and be numbered if it is kept."""
        kind = KEPT if say.size else TOLD
        self.put(Entry(kind, say.name, "", say.data, say.size, say.seconds))

    def put(self, entry: Entry) -> None:
        """Let an entry wait for the database."""
        is_full = len(self._waiting) >= MOST_WAITING or self._bytes > MOST_WAITING_BYTES
        if is_full and not self._is_full:
            _log.warning("messages are lost: too many of them wait for the database")
        self._is_full = is_full
        if not is_full:
            self._waiting.append(entry)
            self._bytes += len(entry.data)
            self.woken()

    def take(self, most: int, most_bytes: int) -> list[Entry]:
        """Return what waits, oldest first, and let it wait no more."""
        found, size = list[Entry](), 0
        while self._waiting and len(found) < most and size < most_bytes:
            found.append(self._waiting.popleft())
            size += len(found[-1].data)
        self._bytes -= size
        return found

    def forget_clients(self) -> None:
        """Let nobody hear of clients that have to come back."""
        kinds = {KEPT, TOLD}
        self._waiting = deque(one for one in self._waiting if one.kind in kinds)
        self._bytes = sum(len(one.data) for one in self._waiting)

    # ---- what waits for the copy
    def must_wait(self, frame: Up) -> bool:
        """Return whether a process has to wait for the copy, or for others who do.

        A client that comes from another server may be ahead of this copy.
        """
        if isinstance(frame, Say):
            return False
        if not self.is_ready or self._held:
            return True
        return isinstance(frame, Join) and self._is_behind(frame)

    def _is_behind(self, join: Join) -> bool:
        is_back = join.recover and join.epoch == self.numbers.epoch
        return is_back and join.offset > self.numbers.offset

    def hold(self, peer: Peer | None, frame: Up, now: float) -> None:
        """Let a process wait for its answer."""
        self._held.append((now, peer, frame))
        self.woken()

    def give_up(self, now: float) -> None:
        """Answer who has waited for long that the database cannot be asked."""
        while self._held and self._held[0][0] < now - WAIT_SECONDS:
            _, peer, frame = self._held.popleft()
            if peer is not None and isinstance(frame, Join | Look):
                peer.tell(Seen(frame.ask, is_away=True))

    def forget(self, peer: Peer) -> None:
        """Let a process that has ended wait no more."""
        self._held = deque(one for one in self._held if one[1] is not peer)

    @property
    def held(self) -> int:
        """How many wait."""
        return len(self._held)

    def release(self, most: int) -> Iterator[tuple[Peer | None, Up]]:
        """Yield what has waited longest, and let it wait no more."""
        for _ in range(min(most, len(self._held))):
            _, peer, frame = self._held.popleft()
            yield peer, frame

    # ---- what is not kept any more
    def new_log(self, name: str) -> Log:
        """Return the log of a topic of which no message is kept."""
        return Log(self.numbers, self.dropped.get(name, self.floor))

    def remember(self, name: str, dropped: int) -> None:
        """Take note that messages of a topic are not kept any more."""
        if dropped > self.dropped.get(name, self.floor):
            self.dropped[name] = dropped
        while len(self.dropped) > MOST_LOGS:
            self.floor = max(self.floor, self.dropped.pop(next(iter(self.dropped))))


def _nothing() -> None:
    """Wake nobody yet."""
