"""Remember what took too long for the event loop, so that it does not begin there each time."""

from __future__ import annotations

from typing import Final

_RUNS: Final = 8
"""So many runs begin in a thread before the loop is tried again: rows and parameters change."""

_MOST: Final = 1_024


class Overruns(dict[tuple[str, ...], int]):
    """Lists of statements, and how many of their next runs begin in a thread.

    Empty, and so false, as long as everything is short.
    """

    def note(self, *texts: str) -> None:
        """One has taken too long on the loop."""
        if len(self) >= _MOST:
            self.clear()
        self[texts] = _RUNS

    def take(self, *texts: str) -> bool:
        """Return whether it begins in a thread, and count that."""
        left = self.pop(texts, 0)
        if left > 1:
            self[texts] = left - 1
        return left > 0
