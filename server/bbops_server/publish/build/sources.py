"""Open repositories and folders, with a compiler's cache for each project.

For one thread only, like a git store.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bbops.base.errors import GitError, ServerError
from bbops.compiler.compile.release import Cache
from bbops.source.git.comparing import find_base
from bbops.source.git.numbered_tags import add_numbered, add_version, read_numbered, read_versions
from bbops.source.git.place import frontend_scope
from bbops.source.git.restoring import describe_restoring, restore_tree
from bbops.source.git.series import Series, Version
from bbops.source.git.store import GitTree, Store
from bbops.source.git.writing import Identity, make_commit, move_branch, write_tree
from bbops.source.tree import FolderTree, Tree
from bbops_server.process.messages.builds import PublishFrontend, PublishFrontendAnswer
from bbops_server.process.messages.repositories import (
    MoveBranch,
    RestoreVersion,
    RestoreVersionAnswer,
    TagVersion,
    TagVersionAnswer,
)
from bbops_server.process.messages.request import DoneAnswer

SourceFields = Mapping[str, Any]
"""{"kind": "git", repository, commit, branch, path} or {"kind": "folder", path}.

A `quarantine` is the folder of the objects of a push that is not accepted yet.
"""


@dataclass(slots=True)
class OpenSources:
    """Open repositories and folders, and one compiler's cache for each project."""

    _stores: dict[str, Store] = field(default_factory=dict)
    _folders: dict[str, FolderTree] = field(default_factory=dict)
    _caches: dict[tuple[str, str], Cache] = field(default_factory=dict)

    def open(self, source: SourceFields) -> tuple[Tree, Cache]:
        """Return the tree of a source and the cache of its project.

        Raises:
            GitError: the repository is gone or cannot be read.
            ServerError: the kind of source is unknown.
        """
        if source["kind"] == "folder":
            path = source["path"]
            tree: Tree = self._folders.setdefault(path, FolderTree(Path(path)))
            return tree, self._caches.setdefault((path, ""), Cache())
        if source["kind"] != "git":
            raise ServerError(f"there is no source of kind '{source['kind']}'")
        repository, under = source["repository"], source["path"]
        store = self.store(repository, source.get("quarantine", ""))
        tree = GitTree(store, source["commit"], branch=source["branch"], under=under)
        return tree, self._caches.setdefault((repository, under), Cache())

    @staticmethod
    def open_apart(source: SourceFields) -> Tree:
        """Return the tree of a commit in a store of its own, for another thread. Raises as `open`.

        Args:
            source: of a repository.
        """
        store = Store.open(Path(source["repository"]))
        return GitTree(store, source["commit"], branch=source["branch"], under=source["path"])

    def accepted(self, source: SourceFields, commit: str) -> Tree | None:
        """Return the same project's tree in the live commit, for a check of a source.

        None if nothing is live, or its commit is missing. For a folder, the tree of the repository
        around it.

        Raises:
            GitError: the repository is missing or cannot be read.
        """
        if source["kind"] == "folder":
            return find_base(Path(source["path"]))
        store = self.store(source["repository"], source.get("quarantine", ""))
        if not commit or not store.has_commit(commit):
            return None
        return GitTree(store, commit, branch=source["branch"], under=source["path"])

    def subject(self, source: SourceFields) -> str:
        """Return the first line of the commit's message; empty for a folder."""
        if source["kind"] == "folder":
            return ""
        return self.store(source["repository"]).subject(source["commit"])

    def author(self, source: SourceFields) -> str:
        """Return the author of the commit; empty for a folder."""
        if source["kind"] == "folder":
            return ""
        return self.store(source["repository"]).author(source["commit"])

    def tag(self, request: TagVersion) -> TagVersionAnswer:
        """Tag a live commit as the next version; return the tag's name.

        A commit that changes no file of the project keeps the live version: changed env values and
        changes of other projects in the repository are not a new version.

        Raises:
            GitError: the tag cannot be written.
        """
        store, commit = self.store(request.repository), request.commit
        if same := _find_same(store, commit, request.series, request.live):
            return TagVersionAnswer(same)
        facts = {**request.facts, "Author": store.author(commit)}
        if proposal := store.trailer(commit, "Proposal"):
            facts["Proposal"] = proposal
        subject = store.subject(commit)
        return TagVersionAnswer(add_version(store.place, commit, subject, facts, request.series))

    def versions(self, repository: str) -> list[Version]:
        """Return all versions of all projects in a repository, highest number first."""
        return list(read_versions(self.store(repository).place))

    def frontends(self, repository: str, folder: str) -> list[dict[str, Any]]:
        """Return the separately published frontends, newest first."""
        prefix = f"{frontend_scope(folder)}/"
        tags = read_numbered(self.store(repository).place, prefix)
        return list(map(asdict, tags))

    def newest_frontend(self, source: SourceFields) -> Tree | None:
        """Return the files of the newest separately published frontend; None without one."""
        store = self.store(source["repository"])
        tags = read_numbered(store.place, f"{frontend_scope(source['path'])}/")
        return GitTree(store, tags[0].commit, branch=tags[0].name) if tags else None

    def publish_frontend(self, request: PublishFrontend) -> PublishFrontendAnswer:
        """Commit files, and tag the commit as the next frontend.

        Raises:
            GitError: the repository cannot be written.
        """
        source = request.source
        store, prefix = self.store(source["repository"]), f"{frontend_scope(source['path'])}/"
        known = read_numbered(store.place, prefix)
        tree = write_tree(store.place, Path(request.folder), request.paths)
        parents = [known[0].commit] if known else []
        who = Identity(request.who.partition("@")[0], request.who)
        commit = make_commit(store.place, tree, parents, request.subject, who)
        facts = {"Release": tree, "Author": request.who}
        above = known[0].number if known else 0
        name = add_numbered(store.place, prefix, above, commit, request.subject, facts)
        return PublishFrontendAnswer(name, commit)

    def restore(self, request: RestoreVersion) -> RestoreVersionAnswer:
        """Create a commit that restores a version, without moving a branch.

        Raises:
            GitError: nothing would change.
        """
        store, branch, only = self.store(request.repository), request.branch, request.only
        head = store.resolve(branch)
        if head is None:
            raise GitError(f"there is no branch '{branch}'")
        tree = restore_tree(store.place, head, request.version, under=request.folder, only=only)
        message = describe_restoring(request.version, only)
        who = Identity(request.who.partition("@")[0], request.who)
        commit = make_commit(store.place, tree, [head], message, who)
        return RestoreVersionAnswer(commit, head, branch, request.version.short)

    def move(self, request: MoveBranch) -> DoneAnswer:
        """Move a branch; the reflog has the reason.

        Raises:
            GitError: the branch has moved, or its files are checked out and have changes.
        """
        place = self.store(request.repository).place
        move_branch(place, request.branch, request.base, request.commit, request.reason)
        return DoneAnswer()

    def resolve(self, repository: str, branch: str) -> tuple[str | None, object]:
        """Return the commit of a branch, None without one, and its stamp before the read."""
        store = self.store(repository)
        try:
            stamp = store.ref_stamp(branch)  # first: a push in between changes the stamp
            return store.resolve(branch), stamp
        except GitError:
            del self._stores[repository]  # it may be replaced by another repository
            raise

    def branches(self, repository: str) -> dict[str, str]:
        """Return every branch of a repository with its newest commit. Raises as `resolve`."""
        try:
            return self.store(repository).branches()
        except GitError:
            self._stores.pop(repository, None)  # it may be replaced by another repository
            raise

    def descends(self, repository: str, old: str, new: str) -> bool:
        """Return whether `new` descends from `old`; False if `old` is missing.

        Raises:
            GitError: the repository is missing or cannot be read.
        """
        store = self.store(repository)
        return store.has_commit(old) and store.is_ancestor(old, new)

    def store(self, repository: str, quarantine: str = "") -> Store:
        """Return an open repository, with the objects of a quarantined push if there is one."""
        if repository not in self._stores:
            self._stores[repository] = Store.open(Path(repository))
        store = self._stores[repository]
        return store.beside(Path(quarantine)) if quarantine else store


def _find_same(store: Store, commit: str, series: Series, live: str) -> str:
    """Return the version with the same files of a project; empty if they are new."""
    known = read_versions(store.place)
    own = [version for version in known if series.holds(version)]
    last = next(iter(own or [version for version in known if version.name == live]), None)
    trees = store.trees([last.commit, commit], series.folder) if last else {}
    is_same = commit in trees and trees[commit] == trees.get(last.commit if last else "")
    return last.name if last and is_same else ""
