"""Random values that cannot be guessed."""

from __future__ import annotations

import secrets
import string
from uuid import uuid4

_CHARACTERS = string.ascii_lowercase + string.digits


class SystemRandom:
    """Implements `bbops.base.host.Random`."""

    __slots__ = ()

    def uuid(self) -> str:
        """Return a new UUID (version 4) in lower case."""
        return str(uuid4())

    def token(self, length: int) -> str:
        """Return `length` characters of a-z and 0-9, with 5.17 bits each."""
        return "".join([secrets.choice(_CHARACTERS) for _ in range(length)])

    def integer(self, low: int, high: int) -> int:
        """Return a whole number from `low` to `high`, inclusive."""
        return low + secrets.randbelow(high - low + 1)
