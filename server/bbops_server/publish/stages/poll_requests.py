"""Requests to poll a source now, each with its time."""

from __future__ import annotations

from datetime import datetime, timedelta

from bbops_server.publish.status.status import now


class PollRequests:
    """The times of poll requests.

    Attributes:
        newest: the time of the newest request.
        polled_at: the time of the newest request before the last poll.
    """

    def __init__(self) -> None:
        self.newest = self.polled_at = now()

    def add(self) -> datetime:
        """Return the time of a new request, later than all before, even if a clock is set back."""
        self.newest = max(now(), self.newest + timedelta.resolution)
        return self.newest
