"""Which files a history has changed since it left a branch, whatever histories it has merged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bbops.base.errors import GitError
from bbops.source.git.command import failure, run
from bbops.source.git.comparing import compare
from bbops.source.git.environment import Limits
from bbops.source.git.place import Place
from bbops.source.git.revisions import Part

MOST_BASES: Final = 20
MOST_NAMES_BYTES: Final = 16 << 20


def find_changed(place: Place, branch: str, head: str) -> frozenset[str] | None:
    """Return the paths that a commit has otherwise than a branch had where they parted.

    Every commit at which they did counts: who merges both sides of an old merge could take one of
    them back, and the other side would show no difference.

    Args:
        place: the repository, with the objects of a push where the commit is one of them.
        branch: its name.
        head: the commit.

    Returns:
        The paths; None where they cannot be told: there is no such branch or commit, no common
        history, or too much of it.

    Raises:
        GitError: the repository cannot be read.
    """
    return _find_changed(place, f"refs/heads/{branch}", head)


def find_carried(place: Place, base: str, head: str, merged: str) -> tuple[str, ...]:
    """Return the files that a merge changes in `base` though `head` does not.

    Git takes a change along to where the other side has moved its file.

    Raises:
        GitError: the repository cannot be read.
    """
    own, names = _find_changed(place, base, head), _list(place, base, merged)
    if own is None or names is None:
        return ()  # it then takes the rights in all projects
    return tuple(sorted(set(filter(None, names.split("\0"))) - own))


def _find_changed(place: Place, base: str, head: str) -> frozenset[str] | None:
    bases = _find_bases(place, base, head)
    if not bases or len(bases) > MOST_BASES:
        return None
    changed: set[str] = set()
    for one in bases:
        names = _list(place, one, head)
        if names is None:
            return None
        changed.update(filter(None, names.split("\0")))
    return frozenset(changed)


def find_touched(place: Place, head: str, parts: Sequence[Part], branch: str) -> list[bool]:
    """Return for each part whether a commit changes it; all, where it changes what is in none.

    Args:
        place: as in `find_changed`.
        head: the commit.
        parts: those that the repository has.
        branch: of the part that the commit is for, whose rest is looked at, too.

    Raises:
        GitError: the repository cannot be read.
    """
    changed = {one: find_changed(place, one, head) for one in {branch, *(p.branch for p in parts)}}
    rest = changed[branch]
    if rest is None or any(not any(part.holds(path) for part in parts) for path in rest):
        return [True for _ in parts]
    return [_is_touched(part, changed[part.branch]) for part in parts]


def _is_touched(part: Part, changed: frozenset[str] | None) -> bool:
    return changed is None or any(map(part.holds, changed))


def list_changed(place: Place, base: str, head: str) -> tuple[str, ...] | None:
    """Return the paths that differ between two commits; None if they are too many to list.

    Bytes that are not valid UTF-8 are replaced by U+FFFD.
    """
    names = _list(place, base, head)
    if names is None:
        return None
    text = names.encode(errors="surrogateescape").decode(errors="replace")
    return tuple(filter(None, text.split("\0")))


def require_listable(place: Place, commit: str) -> None:
    """Accept a commit whose paths can be listed: a few trees can name billions of files.

    Raises:
        GitError: it has too many files.
    """
    # -t lists folders too: a tree of empty folders would print nothing and never end
    arguments = ("ls-tree", "-r", "-t", "-z", "--name-only", "--full-tree", commit)
    answer = run(place, arguments, limits=Limits(output_bytes=MOST_NAMES_BYTES))
    if len(answer.output) > MOST_NAMES_BYTES:
        raise GitError(
            f"commit '{commit[:12]}' has too many files: their paths are more than"
            f" {MOST_NAMES_BYTES >> 20} MiB"
        )
    if answer.status or answer.ended:
        raise failure(answer, arguments)


def _find_bases(place: Place, base: str, head: str) -> Sequence[str]:
    answer = run(place, ("merge-base", "--all", base, head))
    return () if answer.status or answer.ended else answer.output.decode().split()


def _list(place: Place, base: str, head: str) -> str | None:
    arguments = ("-r", "--no-renames", "--name-only", "-z", base, head)
    answer = compare(place, arguments, MOST_NAMES_BYTES)
    if answer.status or answer.ended or len(answer.output) > MOST_NAMES_BYTES:
        return None
    return answer.output.decode(errors="surrogateescape")
