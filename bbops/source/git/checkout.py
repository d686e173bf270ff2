"""The files beside a repository: whether a branch is checked out there, and they differ from it."""

from __future__ import annotations

from pathlib import Path

from bbops.source.git.command import failure, run
from bbops.source.git.place import Place, find_repository, read_head, read_link

_STATUS = ("status", "--porcelain", "--untracked-files=no", "--ignore-submodules")


def is_dirty(folder: Path, branch: str) -> bool:
    """Return whether a branch is checked out in a folder, with changes that are not committed.

    Args:
        folder: a work tree, its `.git`, or a bare repository, which has no files.
        branch: what somebody wants to move.

    Raises:
        GitError: the repository is gone or cannot be read.
    """
    place = find_repository(folder)
    return is_checked_out(place, branch) and has_changes(place)


def is_checked_out(place: Place, branch: str) -> bool:
    """Return whether the files of a branch lie beside a repository."""
    return not place.is_bare and read_head(place) == branch


def has_changes(place: Place) -> bool:
    """Return whether files that git knows have changes that are not committed.

    Raises:
        GitError: the repository cannot be read.
    """
    answer = run(place, _STATUS, work_tree=find_work_tree(place))
    if answer.status or answer.ended:
        raise failure(answer, _STATUS)
    return bool(answer.output)


def find_work_tree(place: Place) -> Path:
    """Return the folder whose files are checked out; a linked work tree names its own."""
    linked = read_link(place)
    return linked if linked is not None else place.git_dir.parent
