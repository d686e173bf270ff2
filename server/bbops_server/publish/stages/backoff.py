"""When a failed attempt is retried, and how often an attempt yields to a newer commit."""

from __future__ import annotations

from time import perf_counter

from bbops_server.publish.status.status import Stalled

MAX_YIELDS = 2
"""Attempts in a row that yield to a newer commit, so that frequent commits do not starve."""

RETRY_SECONDS, LONGEST_RETRY_SECONDS = 5.0, 300.0
"""The pause before a stalled attempt is retried, if a retry may succeed without a new commit.

Each further failure doubles the pause, up to the longest.
"""


class Backoff:
    """Counts retries in a row, and attempts in a row that yielded to a newer commit."""

    def __init__(self) -> None:
        self.retries = 0
        self.yields = 0

    def retry_at(self, stalled: Stalled | None) -> float | None:
        """Return the `perf_counter` time of the next retry; None if only a change can help."""
        if stalled is None or not stalled.is_passing:
            return None
        pause = RETRY_SECONDS * 2.0 ** min(self.retries, 30)
        return perf_counter() + max(min(pause, LONGEST_RETRY_SECONDS), stalled.wait_seconds)

    def yield_to_newer(self) -> bool:
        """Return whether an attempt yields to a newer commit, and count it; False after two."""
        is_yielding = self.yields < MAX_YIELDS
        self.yields += is_yielding
        return is_yielding
