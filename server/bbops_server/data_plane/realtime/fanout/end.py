"""A process's end of the way to the center; here with the center in the same process."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from itertools import count
from typing import Protocol

from bbops.runtime.realtime.topics import Kept
from bbops_server.data_plane.realtime.fanout.center import Center
from bbops_server.data_plane.realtime.fanout.frames import (
    Changed,
    Down,
    Hello,
    Join,
    Look,
    Lost,
    Moved,
    Part,
    Said,
    Say,
    Seen,
    Up,
)

OnSeen = Callable[[Seen | None], None]
"""Takes an answer where it stands among the messages; None where there will be none."""


class Subscribers(Protocol):
    """The subscribers of one project in this process."""

    def deliver(self, name: str, data: bytes, offset: int) -> None:
        """Give a message to those of a topic."""
        ...

    def move(self, moved: Moved) -> None:
        """Tell those of a topic who has come or gone."""
        ...

    def change(self, changed: Changed) -> None:
        """Tell those of topics about rows what has changed."""
        ...

    def lose(self) -> None:
        """Let those of counted topics subscribe again: nobody knows what they have missed."""
        ...


class End(ABC):
    """Takes messages up to the center, and gives those that come down to subscribers."""

    def __init__(self) -> None:
        self._subscribers: dict[str, Subscribers] = {}
        self._asks: dict[int, OnSeen] = {}
        self._numbers = count(1)
        self.published: Callable[[str, bytes], None] | None = None
        """Is called with the topic and the message of each that is sent from here."""

    def take(self, project: str, subscribers: Subscribers) -> None:
        """Give messages of a project to these from now on."""
        self._subscribers[project] = subscribers

    def leave(self, project: str) -> None:
        """Give messages of a project to nobody."""
        self._subscribers.pop(project, None)

    def open(self) -> None:  # noqa: B027 - it may be there already
        """Find the center from now on."""

    async def ready(self) -> bool:
        """Return True once the center can be asked; False where it cannot be for long."""
        return True

    # ---- up
    def publish(self, project: str, name: str, data: bytes, kept: Kept | None, *,
                is_counted: bool) -> None:  # fmt: skip
        """Send a message, at most once."""
        if self.published is not None:
            self.published(name, data)
        size, seconds = (kept.size, kept.seconds) if kept else (0, 0.0)
        if not is_counted and project in self._subscribers:
            self._subscribers[project].deliver(name, data, 0)
        self.send(Say(project, name, data, is_counted, size, seconds))

    def join(self, on_seen: OnSeen, **given: object) -> None:
        """Let a client subscribe; arguments as those of `Join`."""
        self._ask(on_seen, lambda number: Join(number, **given))  # type: ignore[arg-type]

    def part(self, project: str, name: str, client: str) -> None:
        """Let a client go."""
        self.send(Part(project, name, client))

    async def look(self, project: str, name: str, **given: object) -> Seen | None:
        """Return who is there and what is kept; arguments as those of `Look`."""
        seen: asyncio.Future[Seen | None] = asyncio.get_running_loop().create_future()
        self._ask(
            lambda found: None if seen.done() else seen.set_result(found),
            lambda number: Look(number, project, name, **given),  # type: ignore[arg-type]
        )
        return await seen

    def _ask(self, on_seen: OnSeen, make: Callable[[int], Up]) -> None:
        number = next(self._numbers)
        self._asks[number] = on_seen
        self.send(make(number))

    @abstractmethod
    def send(self, frame: Up) -> None:
        """Send a frame to the center."""

    # ---- down
    def tell(self, frame: Down) -> None:
        """Take a frame of the center."""
        if isinstance(frame, Seen):
            on_seen = self._asks.pop(frame.ask, None)
            if on_seen is not None:
                on_seen(None if frame.is_away else frame)
        elif not isinstance(frame, Hello):
            found = self._subscribers.get(frame.project)
            if found is not None and isinstance(frame, Said):
                found.deliver(frame.name, frame.data, frame.offset)
            elif found is not None and isinstance(frame, Moved):
                found.move(frame)
            elif found is not None and isinstance(frame, Changed):
                found.change(frame)
            elif found is not None and isinstance(frame, Lost):
                found.lose()

    def lose(self) -> None:
        """Answer all who wait that there is no answer, and let clients come back."""
        waiting, self._asks = self._asks, {}
        for on_seen in waiting.values():
            on_seen(None)
        for found in tuple(self._subscribers.values()):
            found.lose()


class LocalEnd(End):
    """The end of a process that is alone, such as a draft's: the center is here."""

    def __init__(self) -> None:
        super().__init__()
        self._center = Center()
        self._center.add(self)

    def send(self, frame: Up) -> None:
        """Do it at once."""
        self._center.hear(self, frame)


class CenterEnd(End):
    """The end of the process that has the center, and no clients."""

    def __init__(self, center: Center) -> None:
        super().__init__()
        self._center = center

    def send(self, frame: Up) -> None:
        """Do it at once."""
        self._center.hear(None, frame)
