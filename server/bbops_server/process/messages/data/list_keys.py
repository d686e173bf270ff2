"""List the API keys of a project, newest first."""

from __future__ import annotations

from typing import Any

from bbops_server.process.messages.request import Answer, Request


class Keys(Answer, frozen=True):
    """What is known of each key; never the key."""

    keys: list[dict[str, Any]]


class ListKeys(Request[Keys], frozen=True):
    """List the API keys of a project, newest first."""

    project: str
