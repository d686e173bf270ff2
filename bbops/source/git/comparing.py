"""The differences between two commits, and the base of the work on a folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bbops.base.errors import GitError
from bbops.source.git.command import Answer, run
from bbops.source.git.environment import Limits
from bbops.source.git.place import Place
from bbops.source.git.store import GitTree, Store

MOST_BYTES: Final = 4 << 20
_SECONDS: Final = 8.0
_MEMORY_BYTES: Final = 512 << 20
_SETTINGS: Final = {"core.packedGitWindowSize": "32m", "core.packedGitLimit": "128m"}
"""So that large packs, of which git maps as much as it may, leave room within the memory."""

_OPTIONS: Final = (
    "-r", "-p", "--no-color", "--no-ext-diff", "--no-textconv", "--find-renames", "--unified=2",
)  # fmt: skip


def compare(place: Place, arguments: Sequence[str], most_bytes: int) -> Answer:
    """Run `git diff-tree`, at a low priority: 8 seconds, 512 MiB of memory.

    A few small trees can name 10¹² files.
    """
    limits = Limits(_SECONDS, output_bytes=most_bytes, memory_bytes=_MEMORY_BYTES, niceness=10)
    return run(place, ("diff-tree", *arguments), settings=_SETTINGS, limits=limits)


def read_patch(
    place: Place, base: str, head: str, paths: Sequence[str] = (), *, most_bytes: int = MOST_BYTES
) -> str:
    """Return the difference of two commits or trees, at most its first `most_bytes`.

    Args:
        place: the repository.
        base: what was before.
        head: what came after.
        paths: pathspecs from the repository's root; none for all files.
        most_bytes: of the answer; what is longer is cut in the middle of a line.

    Raises:
        GitError: one of them cannot be read, or too much differs.
    """
    answer = compare(place, (*_OPTIONS, base, head, "--", *paths), most_bytes)
    if (answer.status or answer.ended) and len(answer.output) < most_bytes:
        raise GitError("cannot compare the two: the difference is too large, or one is damaged")
    return answer.output[:most_bytes].decode(errors="replace")


# ---- What a folder's project was like before the work on it: the newest commit that others know

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
