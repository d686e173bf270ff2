"""Ask for the newest commit of a branch."""

from __future__ import annotations

from typing import Any

from bbops_server.process.messages.request import Answer, Request


class Resolved(Answer, frozen=True):
    """The commit, None without the branch; and the stamp it was read at."""

    commit: str | None
    stamp: Any


class Resolve(Request[Resolved], frozen=True):
    """Ask for the newest commit of a branch."""

    repository: str
    branch: str
