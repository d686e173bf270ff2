"""Let these people open the drafts of each project."""

from __future__ import annotations

from bbops_server.process.messages.request import Done, Request


class AdmitMembers(Request[Done], frozen=True):
    """Let these people open the drafts of each project."""

    members: dict[str, list[str]]
    """Their marks, by the project."""
