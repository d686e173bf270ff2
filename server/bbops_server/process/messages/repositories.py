"""Branches, commits, tags and trees of a repository."""

from __future__ import annotations

from typing import Any

from bbops.source.git.revisions import Part
from bbops.source.git.series import Series, Version
from bbops_server.process.messages.request import AnswerMessage, DoneAnswer, RequestMessage


class FetchAnswer(AnswerMessage, frozen=True):
    """The result of a fetch.

    Attributes:
        commit: the branch's newest commit; None without one.
        newest: the newest frontend's version.
        trouble: the problem with a frontend; empty without one.
    """

    commit: str | None
    newest: str
    trouble: str


class Fetch(RequestMessage[FetchAnswer], frozen=True):
    """Update a mirror."""

    url: str
    mirror: str
    branch: str
    project: str | None
    """The project's folder; None for a draft."""

    has_own_frontends: bool
    versions: tuple[str, ...]
    """Refs of the project's versions."""

    authorization: str = ""
    """The HTTP header for the repository; empty for git's own configuration."""


class FetchedRef(AnswerMessage, frozen=True):
    """The commit of a ref; empty without the ref."""

    commit: str


class FetchRef(RequestMessage[FetchedRef], frozen=True):
    """Fetch the objects of a ref that the mirror does not keep."""

    url: str
    mirror: str
    ref: str
    authorization: str = ""
    """As in `Fetch`."""


class ResolveAnswer(AnswerMessage, frozen=True):
    """A branch's newest commit, None without the branch, and the stamp of the reading."""

    commit: str | None
    stamp: Any


class Resolve(RequestMessage[ResolveAnswer], frozen=True):
    """Read the newest commit of a branch."""

    repository: str
    branch: str


class Branches(AnswerMessage, frozen=True):
    """Newest commits by branch."""

    branches: dict[str, str]


class ListBranches(RequestMessage[Branches], frozen=True):
    """List the branches of a repository."""

    repository: str


class ListRemoteBranches(RequestMessage[Branches], frozen=True):
    """List the branches of a remote repository."""

    url: str
    mirror: str
    authorization: str = ""


class FetchHeads(RequestMessage[Branches], frozen=True):
    """Fetch the heads of pull requests; the answer has the commit of each ref."""

    url: str
    mirror: str
    """The repository of the heads, which is not the mirror of the branches."""

    borrows: str
    """The mirror of the branches, whose objects need not be fetched again."""

    refs: tuple[str, ...]
    authorization: str = ""


class TakeBranchAnswer(AnswerMessage, frozen=True):
    """The newest commit of a branch; None if its repository has no such branch."""

    commit: str | None


class TakeBranch(RequestMessage[TakeBranchAnswer], frozen=True):
    """Update one branch of a mirror, or remove it if the origin has none."""

    url: str
    mirror: str
    branch: str
    authorization: str = ""


class PushBranch(RequestMessage[DoneAnswer], frozen=True):
    """Push a commit of a mirror to a branch of its origin."""

    url: str
    mirror: str
    branch: str
    commit: str
    expected: str
    """The branch's commit at the origin; empty for a new branch."""

    authorization: str = ""


class ReadTreesAnswer(AnswerMessage, frozen=True):
    """Trees by commit."""

    trees: dict[str, str]


class ReadTrees(RequestMessage[ReadTreesAnswer], frozen=True):
    """Read the trees of commits."""

    repository: str
    commits: list[str]
    quarantine: str = ""
    """The folder with the objects of a push that is not accepted yet."""

    folder: str = ""
    """A project's folder; empty for the whole tree."""


class ReadFrontendsAnswer(AnswerMessage, frozen=True):
    """Frontend versions, newest first."""

    versions: list[dict[str, Any]]


class ReadFrontends(RequestMessage[ReadFrontendsAnswer], frozen=True):
    """Read the separately published frontends."""

    repository: str
    folder: str


class ReadVersionsAnswer(AnswerMessage, frozen=True):
    """Versions, highest number first."""

    versions: list[Version]


class ReadVersions(RequestMessage[ReadVersionsAnswer], frozen=True):
    """Read every version of every project in a repository."""

    repository: str


class FindChangedPartsAnswer(AnswerMessage, frozen=True):
    """Whether each part changed, in the order of the request."""

    touched: list[bool]


class FindChangedParts(RequestMessage[FindChangedPartsAnswer], frozen=True):
    """Find the parts of a repository that commits change."""

    repository: str
    quarantine: str
    commits: list[str]
    name: str
    """The name of the main branch."""

    parts: list[Part]


class CommitCount(AnswerMessage, frozen=True):
    """The number of commits; 0 if `old` no longer exists."""

    count: int


class CountCommits(RequestMessage[CommitCount], frozen=True):
    """Count the commits between two commits."""

    repository: str
    old: str
    new: str


class CheckDescentAnswer(AnswerMessage, frozen=True):
    """Whether `old` is an ancestor of `new`; false if `old` no longer exists."""

    descends: bool


class CheckDescent(RequestMessage[CheckDescentAnswer], frozen=True):
    """Check that a commit descends from another one."""

    repository: str
    old: str
    new: str


class CheckDirtyAnswer(AnswerMessage, frozen=True):
    """Whether there are uncommitted changes."""

    is_dirty: bool


class CheckDirty(RequestMessage[CheckDirtyAnswer], frozen=True):
    """Check whether a branch is checked out with uncommitted changes."""

    repository: str
    branch: str


class PushSize(AnswerMessage, frozen=True):
    """The number of objects, and the sizes of the largest and of all in bytes."""

    count: int
    largest: int
    total: int


class MeasurePush(RequestMessage[PushSize], frozen=True):
    """Measure the unpacked objects of a push."""

    repository: str
    quarantine: str


class MoveBranch(RequestMessage[DoneAnswer], frozen=True):
    """Move a branch from one commit to another."""

    repository: str
    branch: str
    base: str
    commit: str
    reason: str
    """For the reflog."""


class PushTag(RequestMessage[DoneAnswer], frozen=True):
    """Push a tag to a mirror's origin."""

    url: str
    mirror: str
    tag: str
    authorization: str = ""


class RestoreVersionAnswer(AnswerMessage, frozen=True):
    """A commit that restores a version."""

    commit: str
    base: str
    branch: str
    version: str


class RestoreVersion(RequestMessage[RestoreVersionAnswer], frozen=True):
    """Create a commit that restores a version, without moving a branch."""

    repository: str
    branch: str
    folder: str
    version: Version
    only: list[str]
    """Resources to restore; empty for all."""

    who: str


class TagVersionAnswer(AnswerMessage, frozen=True):
    """The name of the new version."""

    version: str


class TagVersion(RequestMessage[TagVersionAnswer], frozen=True):
    """Tag a published commit as the next version."""

    repository: str
    commit: str
    facts: dict[str, str]
    live: str
    """The live version; empty if unknown."""

    series: Series
