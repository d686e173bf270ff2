"""Let new requests of a project wait, and those under way end."""

from __future__ import annotations

from bbops_server.process.messages.request import Done, Request


class Hold(Request[Done], frozen=True):
    """Let new requests of a project wait, and those under way end."""

    project: str
    seconds: float
    """After that they go on by themselves."""

    drain_seconds: float
    """How much of that those under way have to end."""
