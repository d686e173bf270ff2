"""Let the linked release answer."""

from __future__ import annotations

from bbops_server.process.messages.request import Done, Request


class SwapRelease(Request[Done], frozen=True):
    """Let the linked release answer."""

    project: str
    name: str
    """Of the release, as it was linked."""
