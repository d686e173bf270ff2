"""The files beside a repository: whether a branch is checked out there, and they differ from it."""

from __future__ import annotations

from pathlib import Path

from bbops.git.command import failure, run
from bbops.git.place import find_repository, read_head

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
    if place.is_bare or read_head(place) != branch:
        return False
    work_tree = folder.parent if folder.name == ".git" else folder
    answer = run(place, _STATUS, work_tree=work_tree)
    if answer.status or answer.ended:
        raise failure(answer, _STATUS)
    return bool(answer.output)
