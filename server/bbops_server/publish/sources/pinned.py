"""One commit of a repository, which its owner moves: the head of a pull request from a fork."""

from __future__ import annotations

from pathlib import Path

from bbops_server.process.children import SupervisedChild
from bbops_server.publish.sources.sources import LoneSource, RevisionSource, describe
from bbops_server.publish.sources.values import FetchedRevision


class PinnedSource(LoneSource):
    """A `RevisionSource` with one commit; a draft follows it until `commit` changes."""

    is_elsewhere = True

    def __init__(self, repository: Path, commit: str, branch: str, path: str) -> None:
        """Args: `branch`: the name of the draft, which need not be a branch of git."""
        self.repository, self.commit, self.branch, self.path = repository, commit, branch, path
        self.name, self.shown = repository.name, str(repository)

    async def stamp(self, build: SupervisedChild) -> object:
        """Return the commit."""
        del build
        return self.commit

    async def revision(self, build: SupervisedChild) -> FetchedRevision:
        """Return the commit."""
        del build
        return describe(self.repository, self.commit, self.branch, self.path)

    def of_branch(self, branch: str) -> RevisionSource:
        """Return this source: there are no branches."""
        del branch
        return self
