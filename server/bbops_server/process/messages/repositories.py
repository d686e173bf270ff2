"""Branches, commits, tags and trees of a repository."""

from __future__ import annotations

from typing import Any

from bbops.source.git.parts import Part
from bbops.source.git.series import Series, Version
from bbops_server.process.messages.request import Answer, Done, Request


class Fetched(Answer, frozen=True):
    """The result of a fetch.

    Attributes:
        commit: the branch's newest commit; None without one.
        newest: the newest frontend's version.
        trouble: the problem with a frontend; empty without one.
    """

    commit: str | None
    newest: str
    trouble: str


class Fetch(Request[Fetched], frozen=True):
    """Update a mirror."""

    url: str
    mirror: str
    branch: str
    project: str | None
    """The project's folder; None for a draft."""

    has_own_frontends: bool
    versions: tuple[str, ...]
    """Refs of the project's versions."""


class Resolved(Answer, frozen=True):
    """A branch's newest commit, None without the branch, and the stamp of the reading."""

    commit: str | None
    stamp: Any


class Resolve(Request[Resolved], frozen=True):
    """Read the newest commit of a branch."""

    repository: str
    branch: str


class Branches(Answer, frozen=True):
    """Newest commits by branch."""

    branches: dict[str, str]


class ListBranches(Request[Branches], frozen=True):
    """List the branches of a repository."""

    repository: str


class ListRemoteBranches(Request[Branches], frozen=True):
    """List the branches of a remote repository."""

    url: str
    mirror: str


class Trees(Answer, frozen=True):
    """Trees by commit."""

    trees: dict[str, str]


class ReadTrees(Request[Trees], frozen=True):
    """Read the trees of commits."""

    repository: str
    commits: list[str]
    quarantine: str = ""
    """The folder with the objects of a push that is not accepted yet."""

    folder: str = ""
    """A project's folder; empty for the whole tree."""


class Frontends(Answer, frozen=True):
    """Frontend versions, newest first."""

    versions: list[dict[str, Any]]


class ReadFrontends(Request[Frontends], frozen=True):
    """Read the separately published frontends."""

    repository: str
    folder: str


class Versions(Answer, frozen=True):
    """Versions, highest number first."""

    versions: list[Version]


class ReadVersions(Request[Versions], frozen=True):
    """Read every version of every project in a repository."""

    repository: str


class ChangedParts(Answer, frozen=True):
    """Whether each part changed, in the order of the request."""

    touched: list[bool]


class FindChangedParts(Request[ChangedParts], frozen=True):
    """Find the parts of a repository that commits change."""

    repository: str
    quarantine: str
    commits: list[str]
    name: str
    """The name of the main branch."""

    parts: list[Part]


class CommitCount(Answer, frozen=True):
    """The number of commits; 0 if `old` no longer exists."""

    count: int


class CountCommits(Request[CommitCount], frozen=True):
    """Count the commits between two commits."""

    repository: str
    old: str
    new: str


class Descent(Answer, frozen=True):
    """Whether `old` is an ancestor of `new`; false if `old` no longer exists."""

    descends: bool


class CheckDescent(Request[Descent], frozen=True):
    """Check that a commit descends from another one."""

    repository: str
    old: str
    new: str


class Dirty(Answer, frozen=True):
    """Whether there are uncommitted changes."""

    is_dirty: bool


class CheckDirty(Request[Dirty], frozen=True):
    """Check whether a branch is checked out with uncommitted changes."""

    repository: str
    branch: str


class PushSize(Answer, frozen=True):
    """The number of objects, and the sizes of the largest and of all in bytes."""

    count: int
    largest: int
    total: int


class MeasurePush(Request[PushSize], frozen=True):
    """Measure the unpacked objects of a push."""

    repository: str
    quarantine: str


class MoveBranch(Request[Done], frozen=True):
    """Move a branch from one commit to another."""

    repository: str
    branch: str
    base: str
    commit: str
    reason: str
    """For the reflog."""


class PushTag(Request[Done], frozen=True):
    """Push a tag to a mirror's origin."""

    url: str
    mirror: str
    tag: str


class Restored(Answer, frozen=True):
    """A commit that restores a version."""

    commit: str
    base: str
    branch: str
    version: str


class RestoreVersion(Request[Restored], frozen=True):
    """Create a commit that restores a version, without moving a branch."""

    repository: str
    branch: str
    folder: str
    version: Version
    only: list[str]
    """Resources to restore; empty for all."""

    who: str


class Tagged(Answer, frozen=True):
    """The name of the new version."""

    version: str


class TagVersion(Request[Tagged], frozen=True):
    """Tag a published commit as the next version."""

    repository: str
    commit: str
    facts: dict[str, str]
    live: str
    """The live version; empty if unknown."""

    series: Series
