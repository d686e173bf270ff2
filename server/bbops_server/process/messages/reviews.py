"""New commits, the content of merges, and signatures, for the review of a hosted repository."""

from __future__ import annotations

import msgspec

from bbops_server.process.messages.request import AnswerMessage, RequestMessage


class ArrivedCommit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A commit on the first-parent line of a branch."""

    commit: str
    parents: tuple[str, ...]
    tree: str
    author: str


class ArrivedCommits(AnswerMessage, frozen=True):
    """Commits, oldest first."""

    commits: list[ArrivedCommit]


class ListArrivals(RequestMessage[ArrivedCommits], frozen=True):
    """List the commits on the first-parent line between two commits; of too many, the newest."""

    repository: str
    old: str
    new: str
    most: int
    quarantine: str = ""
    """The folder with the objects of a push that is not accepted yet."""


class MergeAnswer(AnswerMessage, frozen=True):
    """The content that a merge has brought.

    Attributes:
        is_clean: whether git merges the head without conflicts, with the same result.
        files: the changed paths; None if they are too many.
        messages: the messages of the head's commits; None if they are too long.
    """

    is_clean: bool
    files: list[str] | None
    messages: str | None


class ReadMerge(RequestMessage[MergeAnswer], frozen=True):
    """Compare a branch after a merge with the result of git alone."""

    repository: str
    base: str
    """The branch's commit before."""

    head: str
    merged: str


class TextAnswer(AnswerMessage, frozen=True):
    """The text of a file; None without one."""

    text: str | None


class ReadFirstFile(RequestMessage[TextAnswer], frozen=True):
    """Read the first of several files that a commit has."""

    repository: str
    commit: str
    paths: list[str]


class UnsignedCommit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A commit without a signature that counts; `why` continues "commit …"."""

    commit: str
    author: str
    why: str
    hint: str


class UnsignedCommits(AnswerMessage, frozen=True):
    """Commits without a signature that counts."""

    commits: list[UnsignedCommit]


class FindUnsigned(RequestMessage[UnsignedCommits], frozen=True):
    """Find commits that need another signature, by the keys of the live commit."""

    repository: str
    live: str
    folder: str
    """The project's folder in the repository."""

    signers: str
    """The path of a file of SSH keys in the folder; empty without one."""

    keys: str
    """The path of a folder of OpenPGP keys; empty without one."""

    commits: list[ArrivedCommit]
    heads: dict[str, str]
    """The reviewed head of commits that a forge has made, whose signature counts instead."""

    quarantine: str = ""
