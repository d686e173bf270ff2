"""Where a project comes from: a branch of a repository, or a working tree while it is written."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from bbops.base.errors import BbopsError, GitError
from bbops.source.git.place import (
    Place,
    find_repository,
    stamp_branch,
    stamp_branches,
    stamp_frontends,
)
from bbops.source.git.revisions import Revision
from bbops.source.tree import FolderTree
from bbops_server.process.children import SupervisedChild
from bbops_server.process.messages.repositories import ListBranches, Resolve
from bbops_server.publish.sources.values import Fetched
from bbops_server.publish.status.status import Stalled

RESOLVE_SECONDS = 60


class Source(Protocol):
    """Says cheaply whether something may have changed, and then what is there now."""

    poll_seconds: float
    name: str
    shown: str
    """How people are told of it, without anything secret."""

    is_elsewhere: bool
    """Whether the repository is somebody else's, which takes pushes by rules of its own."""

    has_own_frontends: bool
    """Whether a frontend that was tagged elsewhere is not taken: it would pass reviews by."""

    @property
    def holds_rewrites(self) -> bool:
        """Whether others push there: a history that was rewritten waits for a decision."""
        ...

    @property
    def frontend_trouble(self) -> str:
        """Why a frontend that was tagged elsewhere is not served; empty where none is like that."""
        ...

    async def stamp(self, build: SupervisedChild) -> object:
        """Return a value that changes whenever the source may have changed.

        Raises:
            Stalled: it cannot be looked at now.
        """
        ...

    async def revision(self, build: SupervisedChild) -> Fetched | None:
        """Return the newest commit, None without one."""
        ...

    def refresh(self) -> None:
        """Make the next `stamp` look at once, where it would wait for its turn."""
        ...

    async def branches(self, build: SupervisedChild) -> Mapping[str, str] | None:
        """Return every branch with its newest commit; None when that is as it was last time.

        Raises:
            BbopsError: the repository cannot be looked at now.
        """
        ...

    def of_branch(self, branch: str) -> Source:
        """Return the source of a draft: another branch, where rewriting is everyday work."""
        ...

    def share_tag(self, build: SupervisedChild, name: str) -> None:
        """Bring a tag to where the repository comes from, soon; where that is here, do nothing."""
        ...


class BranchSource:
    """A branch of a local repository; its blobs are read, it is never checked out."""

    poll_seconds = 0.05
    is_elsewhere = False
    has_own_frontends, frontend_trouble = False, ""

    def __init__(
        self, repository: Path, branch: str, path: str = "", *, is_draft: bool = False
    ) -> None:
        self.repository, self.branch, self.path = repository.absolute(), branch, path
        self.name, self.shown = self.repository.name, str(self.repository)
        self.is_draft = is_draft
        self._place: Place | None = None
        self._listed: object = None

    @property
    def place(self) -> Place:
        """Where git keeps it. Raises: GitError: there is no repository."""
        if self._place is None:
            self._place = find_repository(self.repository)
        return self._place

    @property
    def holds_rewrites(self) -> bool:
        """Only of a bare repository: in a work tree amending is everyday work."""
        return self.place.is_bare and not self.is_draft

    async def stamp(self, build: SupervisedChild) -> object:
        """Return the stats of the files of the branch and of frontends; five `stat` calls."""
        del build
        try:
            found = stamp_branch(self.place, self.branch)
            return found if self.is_draft else found + stamp_frontends(self.place, self.path)
        except GitError as error:
            raise Stalled("RepositoryGone", error.message, error.hint) from None

    async def revision(self, build: SupervisedChild) -> Fetched | None:
        """Ask git for the newest commit."""
        asked = Resolve(str(self.repository), self.branch)
        commit = (await build.ask(asked, timeout_seconds=RESOLVE_SECONDS)).commit
        return describe(self.repository, commit, self.branch, self.path) if commit else None

    def refresh(self) -> None:
        """Do nothing: it looks all the time."""

    async def branches(self, build: SupervisedChild) -> Mapping[str, str] | None:
        """Ask git, if a branch may have come, gone or moved since it was asked last."""
        stamp = await asyncio.to_thread(stamp_branches, self.place)
        if stamp == self._listed:
            return None
        asked = ListBranches(str(self.repository))
        found = (await build.ask(asked, timeout_seconds=RESOLVE_SECONDS)).branches
        self._listed = stamp
        return found

    def of_branch(self, branch: str) -> Source:
        """Return the same repository's other branch."""
        return BranchSource(self.repository, branch, self.path, is_draft=True)

    def share_tag(self, build: SupervisedChild, name: str) -> None:
        """Do nothing: it is where it belongs."""


def describe(repository: Path, commit: str, branch: str, path: str) -> Fetched:
    """Return a commit's revision, and what the build process needs to read it."""
    source = {
        "kind": "git", "repository": str(repository), "commit": commit, "branch": branch,
        "path": path,
    }  # fmt: skip
    return Fetched(str(Revision(branch, commit)), source)


class FolderSource:
    """A working tree, saved or not committed: `bbops dev`."""

    poll_seconds = 0.2
    holds_rewrites = is_elsewhere = False
    has_own_frontends, frontend_trouble = False, ""

    def __init__(self, folder: Path) -> None:
        self.folder, self.tree = folder, FolderTree(folder)
        self.name, self.shown = folder.name, str(folder)

    async def stamp(self, build: SupervisedChild) -> object:
        """Return every file with its content's id; reads only files that changed."""
        del build
        try:
            entries = await asyncio.to_thread(self.tree.entries)
        except BbopsError as error:
            raise Stalled("FolderGone", error.message, error.hint) from None
        return tuple((entry.path, entry.blob) for entry in entries)

    async def revision(self, build: SupervisedChild) -> Fetched:
        """Return the tree as it is; its revision counts nothing, git has not seen it."""
        del build
        return Fetched("working-tree", {"kind": "folder", "path": str(self.folder)})

    def refresh(self) -> None:
        """Do nothing: it looks all the time."""

    async def branches(self, build: SupervisedChild) -> Mapping[str, str] | None:
        """Return none: what is saved is all there is."""
        del build
        return None

    def of_branch(self, branch: str) -> Source:
        """Return itself: it has no branches."""
        del branch
        return self

    def share_tag(self, build: SupervisedChild, name: str) -> None:
        """Do nothing: a folder has no tags."""
