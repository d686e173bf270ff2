"""What a function returns where its answer goes on after it: the pieces of a step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from bbops.base.streaming import Pieces, StreamEvent


class SentStream:
    """The value of an answer that is sent piece by piece.

    Attributes:
        line: the step that gives it, such as `functions/ask.yaml:4`.
    """

    __slots__ = ("_pieces", "_typed", "line")

    def __init__(self, pieces: Pieces, typed: Callable[[Any], Any], line: str) -> None:
        """Args: `typed` makes the result a value of the step's type, or raises a Failure."""
        self._pieces, self._typed, self.line = pieces, typed, line

    async def read(self) -> Sequence[str | StreamEvent] | None:
        """Return the pieces that have come since, once something has; None at the end."""
        return await self._pieces.read()

    def result(self) -> Any:
        """Return what the step would have returned; only at the end."""
        return self._typed(self._pieces.result())

    async def close(self) -> None:
        """End it, also in the middle."""
        await self._pieces.close()
