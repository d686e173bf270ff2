"""Tag a commit that went live as the next version."""

from __future__ import annotations

from bbops.source.git.series import Series
from bbops_server.process.messages.request import Answer, Request


class Tagged(Answer, frozen=True):
    """The name of the version."""

    version: str


class TagVersion(Request[Tagged], frozen=True):
    """Tag a commit that went live as the next version."""

    repository: str
    commit: str
    facts: dict[str, str]
    live: str
    """The version that is live; empty where nobody knows."""

    series: Series
