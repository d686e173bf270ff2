"""Move a branch from one commit to another."""

from __future__ import annotations

from bbops_server.process.messages.request import Done, Request


class MoveBranch(Request[Done], frozen=True):
    """Move a branch from one commit to another."""

    repository: str
    branch: str
    base: str
    commit: str
    reason: str
    """For the reflog."""
