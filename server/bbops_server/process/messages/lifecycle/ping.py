"""Ask whether a process responds."""

from __future__ import annotations

from bbops_server.process.messages.request import Done, Request


class Ping(Request[Done], frozen=True):
    """Ask whether a process responds."""
