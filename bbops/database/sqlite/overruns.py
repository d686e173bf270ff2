"""Remember statements that were too slow for the event loop, and begin them in a thread."""

from __future__ import annotations

from typing import Final

_RUNS: Final = 8
"""The number of runs in a thread before the loop is tried again: rows and parameters change."""

_MOST: Final = 1_024


class Overruns(dict[tuple[str, ...], int]):
    """Lists of statements, and the number of their next runs that begin in a thread.

    Empty, and so false, as long as all statements are fast.
    """

    def note(self, *texts: str) -> None:
        """Record statements that were too slow on the loop."""
        if len(self) >= _MOST:
            self.clear()
        self[texts] = _RUNS

    def take(self, *texts: str) -> bool:
        """Return whether these statements begin in a thread, and count the run."""
        left = self.pop(texts, 0)
        if left > 1:
            self[texts] = left - 1
        return left > 0
