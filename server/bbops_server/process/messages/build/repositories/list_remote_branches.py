"""List the branches of a repository elsewhere."""

from __future__ import annotations

from bbops_server.process.messages.build.repositories.list_branches import Branches
from bbops_server.process.messages.request import Request


class ListRemoteBranches(Request[Branches], frozen=True):
    """List the branches of a repository elsewhere."""

    url: str
    mirror: str
