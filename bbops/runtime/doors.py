"""What the runtime asks of the host: the time, and chance. The server and tests provide them."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Where the time comes from."""

    def now(self) -> datetime:
        """Return the time as an aware datetime in UTC."""


class Chance(Protocol):
    """Where random values come from; they must be fit for secrets."""

    def uuid(self) -> str:
        """Return a new UUID in lower case."""

    def token(self, length: int) -> str:
        """Return `length` characters of a-z and 0-9."""

    def integer(self, low: int, high: int) -> int:
        """Return a whole number from `low` to `high`, both included."""


class Doors(Protocol):
    """What the functions of expressions use of the host."""

    @property
    def clock(self) -> Clock:
        """The clock a flow reads."""

    @property
    def random(self) -> Chance:
        """The source of chance a flow draws from."""
