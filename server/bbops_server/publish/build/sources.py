"""Where a project's files are read from, and what is kept about it between builds.

To be used by ONE thread only, as a git store is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bbops.base.errors import GitError, ServerError
from bbops.build.compile.release import Cache
from bbops.source.git.base import find_base
from bbops.source.git.numbered_tags import add_numbered, read_numbered
from bbops.source.git.place import frontend_scope
from bbops.source.git.restoring import describe_restoring, restore_tree
from bbops.source.git.series import Series, Version
from bbops.source.git.store import Store
from bbops.source.git.tree import GitTree
from bbops.source.git.versions import add_version, read_versions
from bbops.source.git.writing import Identity, make_commit, move_branch, write_tree
from bbops.source.tree import FolderTree, Tree
from bbops_server.process.messages.builds import (
    PublishFrontend,
    PublishFrontendAnswer,
)
from bbops_server.process.messages.repositories import (
    MoveBranch,
    RestoreVersion,
    RestoreVersionAnswer,
    TagVersion,
    TagVersionAnswer,
)
from bbops_server.process.messages.request import DoneAnswer

Source = Mapping[str, Any]
"""{"kind": "git", repository, commit, branch, path} or {"kind": "folder", path}.

One with a `quarantine` is of a push that is not accepted yet, whose objects are there.
"""


@dataclass(slots=True)
class Sources:
    """Open repositories and folders, and one compiler's cache for each project."""

    _stores: dict[str, Store] = field(default_factory=dict)
    _folders: dict[str, FolderTree] = field(default_factory=dict)
    _caches: dict[tuple[str, str], Cache] = field(default_factory=dict)

    def open(self, source: Source) -> tuple[Tree, Cache]:
        """Return the tree of a source and the cache of its project.

        Raises:
            GitError: the repository is gone or cannot be read.
            ServerError: there is no such kind of source.
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

    def accepted(self, source: Source, commit: str) -> Tree | None:
        """Return the same project's tree in the commit that is live, for a check of a source.

        None where nothing is live, or where its commit is gone. Of a folder it is what the
        repository around it holds.

        Raises:
            GitError: the repository is gone or cannot be read.
        """
        if source["kind"] == "folder":
            return find_base(Path(source["path"]))
        store = self.store(source["repository"], source.get("quarantine", ""))
        if not commit or not store.has_commit(commit):
            return None
        return GitTree(store, commit, branch=source["branch"], under=source["path"])

    def subject(self, source: Source) -> str:
        """Return the first line of the commit's message; empty for a folder."""
        if source["kind"] == "folder":
            return ""
        return self.store(source["repository"]).subject(source["commit"])

    def author(self, source: Source) -> str:
        """Return who wrote the commit; empty for a folder."""
        if source["kind"] == "folder":
            return ""
        return self.store(source["repository"]).author(source["commit"])

    def tag(self, asked: TagVersion) -> TagVersionAnswer:
        """Tag a commit that went live as the next version; return the tag's name.

        One that changes no file of the project keeps the version that was live before it: other
        values of the environment are no new version, nor is what others do in its repository.

        Raises:
            GitError: it cannot be written.
        """
        store, commit = self.store(asked.repository), asked.commit
        if kept := _find_same(store, commit, asked.series, asked.live):
            return TagVersionAnswer(kept)
        facts = {**asked.facts, "Author": store.author(commit)}
        if proposal := store.trailer(commit, "Proposal"):
            facts["Proposal"] = proposal
        subject = store.subject(commit)
        return TagVersionAnswer(add_version(store.place, commit, subject, facts, asked.series))

    def versions(self, repository: str) -> list[Version]:
        """Return every version of every project in a repository, the highest number first."""
        return list(read_versions(self.store(repository).place))

    def frontends(self, repository: str, folder: str) -> list[dict[str, Any]]:
        """Return the frontends that were published on their own, newest first."""
        prefix = f"{frontend_scope(folder)}/"
        found = read_numbered(self.store(repository).place, prefix)
        return list(map(asdict, found))

    def newest_frontend(self, source: Source) -> Tree | None:
        """Return the files of the frontend that was published last; None where none was."""
        store = self.store(source["repository"])
        found = read_numbered(store.place, f"{frontend_scope(source['path'])}/")
        return GitTree(store, found[0].commit, branch=found[0].name) if found else None

    def publish_frontend(self, asked: PublishFrontend) -> PublishFrontendAnswer:
        """Keep files as a commit of their own, and tag it as the next frontend.

        Raises:
            GitError: the repository cannot be written.
        """
        source = asked.source
        store, prefix = self.store(source["repository"]), f"{frontend_scope(source['path'])}/"
        known = read_numbered(store.place, prefix)
        tree = write_tree(store.place, Path(asked.folder), asked.paths)
        parents = [known[0].commit] if known else []
        who = Identity(asked.who.partition("@")[0], asked.who)
        commit = make_commit(store.place, tree, parents, asked.subject, who)
        facts = {"Release": tree, "Author": asked.who}
        above = known[0].number if known else 0
        name = add_numbered(store.place, prefix, above, commit, asked.subject, facts)
        return PublishFrontendAnswer(name, commit)

    def restore(self, asked: RestoreVersion) -> RestoreVersionAnswer:
        """Make a commit that restores a version; no branch holds it yet.

        Raises:
            GitError: nothing would change.
        """
        store, branch, only = self.store(asked.repository), asked.branch, asked.only
        head = store.resolve(branch)
        if head is None:
            raise GitError(f"there is no branch '{branch}'")
        tree = restore_tree(store.place, head, asked.version, under=asked.folder, only=only)
        message = describe_restoring(asked.version, only)
        who = Identity(asked.who.partition("@")[0], asked.who)
        commit = make_commit(store.place, tree, [head], message, who)
        return RestoreVersionAnswer(commit, head, branch, asked.version.short)

    def move(self, asked: MoveBranch) -> DoneAnswer:
        """Move a branch; the reflog has the reason.

        Raises:
            GitError: it has moved since, or its files are checked out and have changes.
        """
        place = self.store(asked.repository).place
        move_branch(place, asked.branch, asked.base, asked.commit, asked.reason)
        return DoneAnswer()

    def resolve(self, repository: str, branch: str) -> tuple[str | None, object]:
        """Return the commit of a branch, None without one, and the stamp it was read at."""
        store = self.store(repository)
        try:
            stamp = store.ref_stamp(branch)  # first: a push in between shows as another stamp
            return store.resolve(branch), stamp
        except GitError:
            del self._stores[repository]  # it may come back as another one
            raise

    def branches(self, repository: str) -> dict[str, str]:
        """Return every branch of a repository with its newest commit. Raises as `resolve`."""
        try:
            return self.store(repository).branches()
        except GitError:
            self._stores.pop(repository, None)  # it may come back as another one
            raise

    def descends(self, repository: str, old: str, new: str) -> bool:
        """Return whether the history of `new` holds `old`; not if `old` is not there at all.

        Raises:
            GitError: the repository is gone or cannot be read.
        """
        store = self.store(repository)
        return store.has_commit(old) and store.is_ancestor(old, new)

    def store(self, repository: str, quarantine: str = "") -> Store:
        """Return the open repository."""
        if repository not in self._stores:
            self._stores[repository] = Store.open(Path(repository))
        store = self._stores[repository]
        return store.beside(Path(quarantine)) if quarantine else store


def _find_same(store: Store, commit: str, series: Series, live: str) -> str:
    """Return the version that holds the same files of a project; empty where they are new."""
    known = read_versions(store.place)
    own = [one for one in known if series.holds(one)]
    last = next(iter(own or [one for one in known if one.name == live]), None)
    trees = store.trees([last.commit, commit], series.folder) if last else {}
    is_same = commit in trees and trees[commit] == trees.get(last.commit if last else "")
    return last.name if last and is_same else ""
