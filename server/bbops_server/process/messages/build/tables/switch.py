"""Change names and types while requests wait."""

from __future__ import annotations

from bbops_server.process.messages.request import Done, Request


class Switch(Request[Done], frozen=True):
    """Change names and types while requests wait."""

    database: str
    """As `write_place` writes it."""

    state: str
    digest: str
    until: float
    """Until when it must be done, on the monotonic clock."""
