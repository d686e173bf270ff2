"""Make a commit that restores a version; no branch holds it yet."""

from __future__ import annotations

from bbops.source.git.series import Version
from bbops_server.process.messages.request import Answer, Request


class Restored(Answer, frozen=True):
    """The commit, its base, the branch that it is for, and the version."""

    commit: str
    base: str
    branch: str
    version: str


class RestoreVersion(Request[Restored], frozen=True):
    """Make a commit that restores a version; no branch holds it yet."""

    repository: str
    branch: str
    folder: str
    version: Version
    only: list[str]
    """Resources; all without any."""

    who: str
