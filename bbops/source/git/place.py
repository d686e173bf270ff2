"""Find a repository's folders, and tell cheaply when a branch may have moved. Runs no git."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from bbops.base.errors import GitError

_LINE_BYTES = 4096

Stamp = tuple[tuple[int, int, int] | None, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """A repository: `git_dir` is this work tree's own folder, `common_dir` the shared one.

    Somebody edits files beside the one of a work tree; to one that `is_bare` others push. `index`
    is a file to work on in place of git's own, `quarantine` holds the objects of a push that is not
    accepted yet.
    """

    git_dir: Path
    common_dir: Path
    is_bare: bool = False
    index: Path | None = None
    quarantine: Path | None = None
    only_quarantine: bool = False
    """Whether nothing but the objects of that push is looked at."""


def find_repository(path: Path) -> Place:
    """Return the repository at `path`: a work tree, a linked one, a `.git` folder, or bare.

    Raises:
        GitError: there is none; the folders above are not searched.
    """
    path = Path(os.path.abspath(path))  # noqa: PTH100 - links stay, as git shows them
    for candidate in (_follow(path / ".git"), path):
        if _is_git_dir(candidate):
            is_bare = candidate == path and path.name != ".git"
            return Place(candidate, _common(candidate), is_bare)
    raise GitError(
        f"'{path}' is not a git repository",
        hint="give the folder that contains .git, or create a repository with 'git init'",
    )


def stamp_branch(place: Place, branch: str) -> Stamp:
    """Return what changes whenever `branch` may have moved. Three or four `stat` calls.

    Raises:
        GitError: the repository is gone.
    """
    common = place.common_dir
    if not (common / "objects").is_dir():
        raise GitError(f"repository '{common}' is gone")
    files = (
        common / "refs/heads" / branch,
        common / "packed-refs",
        common / "reftable/tables.list",
    )
    return tuple(map(_stamp, files))


def stamp_frontends(place: Place, folder: str) -> Stamp:
    """Return what changes whenever a tag of a project's frontend may have come, gone or moved.

    One `stat` call; tags that are packed change what `stamp_branch` returns.
    """
    return (_stamp(place.common_dir / "refs/tags" / frontend_scope(folder)),)


def stamp_branches(place: Place) -> tuple[Stamp, ...]:
    """Return what changes whenever any branch may have come, gone or moved.

    One `stat` call for each folder of branches: git puts a branch's file in the place of the old
    one, which its folder's time tells.

    Raises:
        GitError: the repository is gone.
    """
    common = place.common_dir
    if not (common / "objects").is_dir():
        raise GitError(f"repository '{common}' is gone")
    folders = (Path(folder) for folder, _, _ in os.walk(common / "refs/heads"))
    files = (common / "packed-refs", common / "reftable/tables.list")
    return tuple((_stamp(one),) for one in (*folders, *files))


def frontend_scope(folder: str) -> str:
    """Return what stands before the versions of a project's frontend in the names of tags.

    Args:
        folder: of the project in a repository of several; else empty.
    """
    return f"{folder}/frontend" if folder else "frontend"


def read_head(place: Place) -> str:
    """Return the branch that is checked out; empty when it is none."""
    head = _first_line(place.git_dir / "HEAD")
    prefix = "ref: refs/heads/"
    return head.removeprefix(prefix) if head.startswith(prefix) else ""


def read_link(place: Place) -> Path | None:
    """Return the folder of a linked work tree; None for any other."""
    line = _first_line(place.git_dir / "gitdir")
    return Path(line).parent if line else None


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _is_git_dir(path: Path) -> bool:
    if not os.path.lexists(path / "HEAD"):
        return False
    return (_common(path) / "objects").is_dir()


def _follow(path: Path) -> Path:
    """Return the folder a `.git` file of a linked work tree or submodule names."""
    target = _first_line(path).removeprefix("gitdir: ")
    return path.parent / target if target else path


def _common(git_dir: Path) -> Path:
    line = _first_line(git_dir / "commondir")
    return Path(os.path.normpath(git_dir / line)) if line else git_dir


def _first_line(path: Path) -> str:
    """Return the first line of a small file, empty without one; never wait for a pipe."""
    try:
        file = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except (OSError, ValueError):
        return ""
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            return ""
        return os.read(file, _LINE_BYTES).decode().partition("\n")[0].strip()
    except (OSError, UnicodeDecodeError):
        return ""
    finally:
        os.close(file)
