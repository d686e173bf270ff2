"""End a process in order."""

from __future__ import annotations

from bbops_server.process.messages.request import Done, Request


class Stop(Request[Done], frozen=True):
    """End a process in order."""

    grace_seconds: float
    """How long what is under way may take."""
