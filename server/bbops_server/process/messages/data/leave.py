"""Accept no more, and answer once every connection has ended."""

from __future__ import annotations

from bbops_server.process.messages.request import Done, Request


class Leave(Request[Done], frozen=True):
    """Accept no more, and answer once every connection has ended."""

    seconds: float
    """How long they may take."""
