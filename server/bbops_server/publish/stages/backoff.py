"""When what failed is tried again, and how long an attempt gives way to newer commits."""

from __future__ import annotations

from time import perf_counter

from bbops_server.publish.status.status import Stalled

MOST_OVERTAKEN = 2
"""Attempts in a row that give way to a newer commit: commits without a pause must not starve."""

RETRY_SECONDS, LONGEST_RETRY_SECONDS = 5.0, 300.0
"""A stalled attempt that no commit can mend, such as a full disk, is tried again after this.

Each time it fails again, the pause doubles.
"""


class Backoff:
    """Counts what happens in a row: attempts that were tried again, and attempts that gave way."""

    def __init__(self) -> None:
        self.retries = 0
        self.overtaken = 0

    def retry_at(self, stalled: Stalled | None) -> float | None:
        """Return when to try again, by `perf_counter`; None for what only a change can mend."""
        if stalled is None or not stalled.is_passing:
            return None
        pause = RETRY_SECONDS * 2.0 ** min(self.retries, 30)
        return perf_counter() + min(pause, LONGEST_RETRY_SECONDS)

    def give_way(self) -> bool:
        """Return whether an attempt makes room for a newer one, and count it; never thrice."""
        gives_way = self.overtaken < MOST_OVERTAKEN
        self.overtaken += gives_way
        return gives_way
