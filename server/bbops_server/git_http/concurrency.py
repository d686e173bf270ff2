"""Bound how many exchanges there are at once, of everybody and of one person; others wait."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from bbops_server.git_http.request import GitRequest, Refusal

MOST_PUSHES: Final = 4
MOST_FETCHES: Final = 16
MOST_WAITING: Final = 64
"""Exchanges that may wait for a place, of everybody; one person may have a quarter of them."""

WAIT_SECONDS: Final = 60.0
_SHARE: Final = 2
"""One person may take half of the places."""

_WAITING_SHARE: Final = 4
_RETRY_SECONDS: Final = "5"


class Concurrency:
    """Counts the exchanges under way in this process."""

    def __init__(self) -> None:
        self._pushes = _Places(MOST_PUSHES, "pushes")
        self._fetches = _Places(MOST_FETCHES, "fetches")

    @asynccontextmanager
    async def take(self, asked: GitRequest, person: str) -> AsyncIterator[None]:
        """Hold a place while the block runs; wait for it, in turn, where there is none.

        The greeting of a push takes a place of a fetch: nothing is pushed yet.

        Raises:
            Refusal: too many wait already, 503, or too many of this person, 429; or none was free
                in time, 503.
        """
        places = self._pushes if asked.is_push and not asked.is_greeting else self._fetches
        await places.enter(person)
        try:
            yield
        finally:
            places.leave(person)


@dataclass(slots=True)
class _Places:
    most: int
    what: str
    taken: Counter[str] = field(default_factory=Counter)
    waiting: list[tuple[str, asyncio.Future[None]]] = field(default_factory=list)

    async def enter(self, person: str) -> None:
        if self._has_place(person) and not any(self._has_place(one) for one, _ in self.waiting):
            self.taken[person] += 1
            return
        self._require_few(person)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.waiting.append((person, turn))
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                await turn  # who wakes it has taken the place for it
        except BaseException as error:
            if turn.done() and not turn.cancelled():
                self.leave(person)
            else:
                self.waiting.remove((person, turn))
            if isinstance(error, TimeoutError):
                message = f"{self.taken.total()} {self.what} are running, and none finished in time"
                raise _full(503, message) from None
            raise

    def leave(self, person: str) -> None:
        self.taken -= Counter([person])  # forgets who has none
        for waiting in tuple(self.waiting):
            one, turn = waiting
            if self._has_place(one) and not turn.done():
                self.waiting.remove(waiting)
                self.taken[one] += 1
                turn.set_result(None)

    def _has_place(self, person: str) -> bool:
        return self.taken[person] < self.most // _SHARE and self.taken.total() < self.most

    def _require_few(self, person: str) -> None:
        mine = sum(one == person for one, _ in self.waiting)
        if mine >= MOST_WAITING // _WAITING_SHARE:
            raise _full(429, f"{mine} {self.what} of yours are waiting")
        if len(self.waiting) >= MOST_WAITING:
            raise _full(503, f"{len(self.waiting)} {self.what} are waiting")


def _full(status: int, message: str) -> Refusal:
    return Refusal(status, f"{message}; try again in a moment", retry_after=_RETRY_SECONDS)
