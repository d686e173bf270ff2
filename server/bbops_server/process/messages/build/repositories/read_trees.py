"""Read the trees of commits."""

from __future__ import annotations

from bbops_server.process.messages.request import Answer, Request


class Trees(Answer, frozen=True):
    """The tree of each commit that has one."""

    trees: dict[str, str]


class ReadTrees(Request[Trees], frozen=True):
    """Read the trees of commits."""

    repository: str
    commits: list[str]
    quarantine: str = ""
    """Where the objects of a push are that is not accepted yet."""

    folder: str = ""
    """Of a project; empty for all."""
