"""List the branches of a repository."""

from __future__ import annotations

from bbops_server.process.messages.request import Answer, Request


class Branches(Answer, frozen=True):
    """Each branch with its newest commit."""

    branches: dict[str, str]


class ListBranches(Request[Branches], frozen=True):
    """List the branches of a repository."""

    repository: str
