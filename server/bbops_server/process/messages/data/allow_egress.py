"""Let a draft reach no more than this."""

from __future__ import annotations

from bbops_server.process.messages.request import Done, Request


class AllowEgress(Request[Done], frozen=True):
    """Let a draft reach no more than this."""

    egress: tuple[str, ...]
