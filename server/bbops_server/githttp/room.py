"""Bound how many exchanges there are at once: of everybody, and of one person."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from bbops_server.githttp.asked import Asked, Refusal

MOST_PUSHES: Final = 4
MOST_FETCHES: Final = 16
_SHARE: Final = 2
"""One person may take half of the room."""

_WAIT_SECONDS: Final = "5"


class Room:
    """Counts the exchanges under way in this process."""

    def __init__(self) -> None:
        self._pushes = _Places(MOST_PUSHES, "pushes")
        self._fetches = _Places(MOST_FETCHES, "fetches")

    @contextmanager
    def take(self, asked: Asked, person: str) -> Iterator[None]:
        """Hold a place while the block runs.

        The greeting of a push takes one of a fetch. It is refused where the push would be: only
        there does a client show why.

        Raises:
            Refusal: there is none, 503, or the person has theirs already, 429.
        """
        if asked.is_push:
            self._pushes.require(person)
        places = self._pushes if asked.is_push and not asked.is_greeting else self._fetches
        places.require(person)
        places.taken[person] += 1
        try:
            yield
        finally:
            places.taken -= Counter([person])  # forgets who has none


@dataclass(slots=True)
class _Places:
    most: int
    what: str
    taken: Counter[str] = field(default_factory=Counter)

    def require(self, person: str) -> None:
        if self.taken[person] >= self.most // _SHARE:
            raise _full(429, f"{self.taken[person]} {self.what} of yours are under way")
        if self.taken.total() >= self.most:
            raise _full(503, f"{self.most} {self.what} are under way")


def _full(status: int, message: str) -> Refusal:
    return Refusal(status, f"{message}; try again in a moment", retry_after=_WAIT_SECONDS)
