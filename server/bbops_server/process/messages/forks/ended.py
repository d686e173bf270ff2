"""A process that was forked has ended."""

from __future__ import annotations

from bbops_server.process.messages.request import Event


class Ended(Event, frozen=True):
    """A process that was forked has ended."""

    pid: int
    status: int
    """Its exit status; negative is a signal."""

    cpu_seconds: float
