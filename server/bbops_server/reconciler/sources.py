"""Where a project comes from: a branch of a repository, or a working tree while it is written."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from bbops.git.place import find_repository, stamp_branch
from bbops.tree import FolderTree
from bbops_server.processes import LivingChild
from bbops_server.reconciler.status import Stalled


class Source(Protocol):
    """Says cheaply whether something may have changed, and then what is there now."""

    poll_seconds: float

    async def stamp(self) -> object:
        """Return a value that changes whenever the source may have changed."""
        ...

    async def revision(self, build: LivingChild) -> tuple[str, Mapping[str, Any]]:
        """Return (revision, what the build process needs to read it).

        Raises:
            Stalled: there is nothing to read.
        """
        ...


class BranchSource:
    """A branch of a local repository; its blobs are read, it is never checked out."""

    poll_seconds = 0.05

    def __init__(self, repository: Path, branch: str, path: str = "") -> None:
        """Raises: GitError: there is no repository."""
        self.repository, self.branch, self.path = repository, branch, path
        self.place = find_repository(repository)

    async def stamp(self) -> object:
        """Return the stats of the branch's files; four `stat` calls."""
        return stamp_branch(self.place, self.branch)

    async def revision(self, build: LivingChild) -> tuple[str, Mapping[str, Any]]:
        """Ask git for the newest commit."""
        asked = {"do": "resolve", "repository": str(self.repository), "branch": self.branch}
        commit = (await build.ask(asked, timeout_seconds=30))["commit"]
        if commit is None:
            raise Stalled(
                "BranchNotFound", f"the repository has no branch '{self.branch}' with a commit",
                "commit something, or name another branch with --branch",
            )  # fmt: skip
        source = {
            "kind": "git", "repository": str(self.repository), "commit": commit,
            "branch": self.branch, "path": self.path,
        }  # fmt: skip
        return f"{self.branch}@sha1:{commit}", source


class FolderSource:
    """A working tree, saved or not committed: `bbops dev`."""

    poll_seconds = 0.2

    def __init__(self, folder: Path) -> None:
        self.folder, self.tree = folder, FolderTree(folder)

    async def stamp(self) -> object:
        """Return every file with its content's id; reads only files that changed."""
        entries = await asyncio.to_thread(self.tree.entries)
        return tuple((entry.path, entry.blob) for entry in entries)

    async def revision(self, build: LivingChild) -> tuple[str, Mapping[str, Any]]:
        """Return the tree as it is; its revision counts nothing, git has not seen it."""
        del build
        return "working-tree", {"kind": "folder", "path": str(self.folder)}
