"""Ask whether the files of a branch are checked out and have changes."""

from __future__ import annotations

from bbops_server.process.messages.request import Answer, Request


class Dirty(Answer, frozen=True):
    """Whether they have."""

    is_dirty: bool


class CheckDirty(Request[Dirty], frozen=True):
    """Ask whether the files of a branch are checked out and have changes."""

    repository: str
    branch: str
