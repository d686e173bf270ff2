"""Make an API key of a project."""

from __future__ import annotations

from typing import Any

from bbops_server.process.messages.request import Answer, Request


class Issued(Answer, frozen=True):
    """A key that was made: its id, and the key itself, which is shown once."""

    id: str
    key: str


class IssueKey(Request[Issued], frozen=True):
    """Make an API key of a project."""

    project: str
    name: str
    channels: list[str]
    """All, where none is named."""

    expires_in: str | None
    claims: dict[str, Any]
