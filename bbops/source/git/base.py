"""What a folder's project was like before the work on it: the newest commit that others know."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from bbops.base.errors import GitError
from bbops.source.git.store import Store
from bbops.source.git.tree import GitTree

_ACCEPTED: Final = ("origin/main", "main", "HEAD")
"""Where that is, the likeliest first: `main` here may be ahead of what was published."""


def find_around(folder: Path) -> tuple[Path, str] | None:
    """Return the repository around a folder and the folder's path in it, None without one."""
    here = folder.resolve()
    for top in (here, *here.parents):
        if (top / ".git").exists() or (top == here and (top / "HEAD").is_file()):
            under = here.relative_to(top).as_posix()
            return top, "" if under == "." else under
    return None


def find_base(folder: Path) -> GitTree | None:
    """Return the project of a folder as origin/main holds it, else main, else what is committed.

    None without a repository or a commit.
    """
    found = find_around(folder)
    if found is None:
        return None
    top, under = found
    try:
        store = Store.open(top)
        named = ((name, store.find_commit(name)) for name in _ACCEPTED)
        name, commit = next(((name, commit) for name, commit in named if commit), ("", None))
        return GitTree(store, commit, branch=name, under=under) if commit else None
    except GitError:  # not to be read: as if there were none
        return None
