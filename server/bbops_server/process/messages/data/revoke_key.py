"""End an API key of a project."""

from __future__ import annotations

from bbops_server.process.messages.request import Answer, Request


class Revoked(Answer, frozen=True):
    """The id of the key."""

    id: str


class RevokeKey(Request[Revoked], frozen=True):
    """End an API key of a project."""

    project: str
    key: str
