"""Read every version of every project in a repository."""

from __future__ import annotations

from bbops.source.git.series import Version
from bbops_server.process.messages.request import Answer, Request


class Versions(Answer, frozen=True):
    """The highest number first."""

    versions: list[Version]


class ReadVersions(Request[Versions], frozen=True):
    """Read every version of every project in a repository."""

    repository: str
