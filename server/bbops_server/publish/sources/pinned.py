"""One commit of a repository, which its owner moves: the head of a pull request from a fork."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bbops_server.process.children import SupervisedChild
from bbops_server.publish.sources.sources import RevisionSource, describe
from bbops_server.publish.sources.values import FetchedRevision


class PinnedSource:
    """A `RevisionSource` with one commit; a draft follows it until `commit` changes."""

    poll_seconds = 0.2
    holds_rewrites = False
    is_elsewhere = True
    has_own_frontends, frontend_error = False, ""

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

    def refresh(self) -> None:
        """Do nothing: the commit is known."""

    async def branches(self, build: SupervisedChild) -> Mapping[str, str] | None:
        """Return None: there are no branches."""
        del build
        return None

    def of_branch(self, branch: str) -> RevisionSource:
        """Return this source: there are no branches."""
        del branch
        return self

    def share_tag(self, build: SupervisedChild, name: str) -> None:
        """Do nothing: drafts have no versions."""

    async def fetch_ref(self, build: SupervisedChild, ref: str) -> str:
        """Return an empty text: drafts need no review."""
        del build, ref
        return ""
