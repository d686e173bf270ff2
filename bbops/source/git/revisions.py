"""Revisions, such as `main@sha1:…`, and the part of a repository that is one project."""

from __future__ import annotations

from typing import Final, NamedTuple

_MARK: Final = "@sha1:"


class Revision(NamedTuple):
    """A branch and a whole commit id; both are empty for a working tree, and for nothing."""

    branch: str = ""
    commit: str = ""

    def __str__(self) -> str:
        return f"{self.branch}{_MARK}{self.commit}"


def read_revision(text: str | None) -> Revision:
    """Return what a text names; nothing where it names no commit."""
    branch, mark, commit = (text or "").rpartition(_MARK)
    return Revision(branch, commit) if mark else Revision()


def commit_of(text: str | None) -> str:
    """Return the commit that a text names; empty where it names none."""
    return read_revision(text).commit


class Part(NamedTuple):
    """A folder of a repository, all of it where it is empty, as one branch has it."""

    branch: str
    folder: str

    def holds(self, path: str) -> bool:
        """Return whether a file is in the folder."""
        return not self.folder or path.startswith(f"{self.folder}/")
