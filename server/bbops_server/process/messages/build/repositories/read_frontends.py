"""Read the frontends that were published on their own."""

from __future__ import annotations

from typing import Any

from bbops_server.process.messages.request import Answer, Request


class Frontends(Answer, frozen=True):
    """The newest first."""

    versions: list[dict[str, Any]]


class ReadFrontends(Request[Frontends], frozen=True):
    """Read the frontends that were published on their own."""

    repository: str
    folder: str
