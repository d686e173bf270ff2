"""Requests to look at a source now, each with its time."""

from __future__ import annotations

from datetime import datetime, timedelta

from bbops_server.publish.status.status import now


class LookRequests:
    """The requests for a look.

    Attributes:
        newest: the time of the newest request.
        looked_at: the time of the newest request from before the newest look.
    """

    def __init__(self) -> None:
        self.newest = self.looked_at = now()

    def add(self) -> datetime:
        """Return the time of a new request: later than each one before, whatever the clock does."""
        self.newest = max(now(), self.newest + timedelta.resolution)
        return self.newest
