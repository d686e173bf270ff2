"""Where a request carries its token: behind the words of `auth.schemes`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class Credentials:
    """What a project takes for the token of a request."""

    __slots__ = ("_words", "challenge")

    def __init__(self, schemes: Sequence[str] = ("Bearer",)) -> None:
        """Take the words; in which case they are written does not count."""
        self._words = frozenset(one.lower().encode() for one in schemes)
        self.challenge = ", ".join(schemes).encode()

    def find(self, scope: Any) -> str | None:
        """Return the token of a request; of several `authorization` headers the first counts."""
        for name, value in scope["headers"]:
            if name == b"authorization":
                word, _, token = value.partition(b" ")
                if word.lower() not in self._words:
                    return None
                return token.strip().decode("latin-1") or None
        return None
