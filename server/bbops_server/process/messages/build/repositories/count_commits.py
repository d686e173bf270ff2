"""Count the commits between two."""

from __future__ import annotations

from bbops_server.process.messages.request import Answer, Request


class CommitCount(Answer, frozen=True):
    """How many there are; 0 where `old` is gone."""

    count: int


class CountCommits(Request[CommitCount], frozen=True):
    """Count the commits between two."""

    repository: str
    old: str
    new: str
