"""Sources of a project: a branch of a local repository, or a working tree."""

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
from bbops_server.publish.sources.values import FetchedRevision
from bbops_server.publish.status.status import Stalled

RESOLVE_SECONDS = 60


class RevisionSource(Protocol):
    """A source of revisions: `stamp` says cheaply whether there may be a new one."""

    poll_seconds: float
    name: str
    shown: str
    """The source for messages, without secrets."""

    is_elsewhere: bool
    """Whether another server hosts the repository, with its own rules for pushes."""

    has_own_frontends: bool
    """Whether frontends come from this server only: tags pushed elsewhere would bypass reviews."""

    @property
    def holds_rewrites(self) -> bool:
        """Whether rewritten history waits for a decision, because others push to the branch."""
        ...

    @property
    def frontend_error(self) -> str:
        """Why a frontend that was tagged elsewhere is rejected; empty without one."""
        ...

    async def stamp(self, build: SupervisedChild) -> object:
        """Return a value that changes whenever the source may have changed.

        Raises:
            Stalled: the source is unreachable.
        """
        ...

    async def revision(self, build: SupervisedChild) -> FetchedRevision | None:
        """Return the newest commit; None without one."""
        ...

    def refresh(self) -> None:
        """Make the next `stamp` poll the source at once."""
        ...

    async def branches(self, build: SupervisedChild) -> Mapping[str, str] | None:
        """Return every branch with its newest commit; None if nothing changed since the last call.

        Raises:
            BbopsError: the repository is unreachable.
        """
        ...

    def of_branch(self, branch: str) -> RevisionSource:
        """Return the source of another branch, for a draft; drafts may be rewritten."""
        ...

    def share_tag(self, build: SupervisedChild, name: str) -> None:
        """Push a tag to a remote repository in the background; do nothing for a local one."""
        ...

    async def fetch_ref(self, build: SupervisedChild, ref: str) -> str:
        """Fetch the objects of a ref of a remote repository; return its commit.

        Empty without the ref, and for a local source.

        Raises:
            BbopsError: the repository is unreachable.
        """
        ...


class BranchSource:
    """A branch of a local repository, read from its blobs and never checked out."""

    poll_seconds = 0.05
    is_elsewhere = False
    has_own_frontends, frontend_error = False, ""

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
        """The files of the repository. Raises: GitError: there is no repository."""
        if self._place is None:
            self._place = find_repository(self.repository)
        return self._place

    @property
    def holds_rewrites(self) -> bool:
        """Whether the repository is bare: in a work tree, amending commits is normal."""
        return self.place.is_bare and not self.is_draft

    async def stamp(self, build: SupervisedChild) -> object:
        """Return the stats of the files of the branch and of frontends; five `stat` calls."""
        del build
        try:
            stamp = stamp_branch(self.place, self.branch)
            return stamp if self.is_draft else stamp + stamp_frontends(self.place, self.path)
        except GitError as error:
            raise Stalled("RepositoryGone", error.message, error.hint) from None

    async def revision(self, build: SupervisedChild) -> FetchedRevision | None:
        """Resolve the branch to its newest commit."""
        request = Resolve(str(self.repository), self.branch)
        commit = (await build.ask(request, timeout_seconds=RESOLVE_SECONDS)).commit
        return describe(self.repository, commit, self.branch, self.path) if commit else None

    def refresh(self) -> None:
        """Do nothing: every poll reads the repository."""

    async def branches(self, build: SupervisedChild) -> Mapping[str, str] | None:
        """List the branches, if one may have been added, removed or moved since the last call."""
        stamp = await asyncio.to_thread(stamp_branches, self.place)
        if stamp == self._listed:
            return None
        request = ListBranches(str(self.repository))
        branches = (await build.ask(request, timeout_seconds=RESOLVE_SECONDS)).branches
        self._listed = stamp
        return branches

    def of_branch(self, branch: str) -> RevisionSource:
        """Return another branch of the same repository."""
        return BranchSource(self.repository, branch, self.path, is_draft=True)

    def share_tag(self, build: SupervisedChild, name: str) -> None:
        """Do nothing: the tag is already in this repository."""

    async def fetch_ref(self, build: SupervisedChild, ref: str) -> str:
        """Return an empty text: there is no other repository to fetch from."""
        del build, ref
        return ""


def describe(repository: Path, commit: str, branch: str, path: str) -> FetchedRevision:
    """Return a commit's revision, with the fields that the build process reads it by."""
    source = {
        "kind": "git", "repository": str(repository), "commit": commit, "branch": branch,
        "path": path,
    }  # fmt: skip
    return FetchedRevision(str(Revision(branch, commit)), source)


class LoneSource:
    """The parts of a source without branches, tags and refs."""

    poll_seconds = 0.2
    holds_rewrites = False
    has_own_frontends, frontend_error = False, ""

    def refresh(self) -> None:
        """Do nothing: every poll reads the source."""

    async def branches(self, build: SupervisedChild) -> Mapping[str, str] | None:
        """Return None: there are no branches."""
        del build
        return None

    def share_tag(self, build: SupervisedChild, name: str) -> None:
        """Do nothing: there are no tags."""

    async def fetch_ref(self, build: SupervisedChild, ref: str) -> str:
        """Return an empty text: there are no refs."""
        del build, ref
        return ""


class FolderSource(LoneSource):
    """A working tree with uncommitted files, for `bbops dev`."""

    is_elsewhere = False

    def __init__(self, folder: Path) -> None:
        self.folder, self.tree = folder, FolderTree(folder)
        self.name, self.shown = folder.name, str(folder)

    async def stamp(self, build: SupervisedChild) -> object:
        """Return every file with its content's id; only changed files are read."""
        del build
        try:
            entries = await asyncio.to_thread(self.tree.entries)
        except BbopsError as error:
            raise Stalled("FolderGone", error.message, error.hint) from None
        return tuple((entry.path, entry.blob) for entry in entries)

    async def revision(self, build: SupervisedChild) -> FetchedRevision:
        """Return the current tree; its revision is a constant, as it has no commit."""
        del build
        return FetchedRevision("working-tree", {"kind": "folder", "path": str(self.folder)})

    def of_branch(self, branch: str) -> RevisionSource:
        """Return the same source: a working tree has no branches."""
        del branch
        return self
