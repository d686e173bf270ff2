"""Accept connections from now on."""

from __future__ import annotations

from bbops_server.process.messages.request import Done, Request


class Listen(Request[Done], frozen=True):
    """Accept connections from now on."""
