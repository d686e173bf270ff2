"""New commits of a branch, a push or a proposal, and the files that they change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bbops.base.errors import GitError
from bbops.source.git.command import failure, run
from bbops.source.git.comparing import compare
from bbops.source.git.environment import Limits
from bbops.source.git.place import Place
from bbops.source.git.revisions import Part
from bbops.source.git.writing import merge_trees

MAX_MESSAGES_BYTES: Final = 4 << 20


@dataclass(frozen=True, slots=True)
class Arrival:
    """A commit on the first-parent line of a branch, with the ids of its parents and tree."""

    commit: str
    parents: tuple[str, ...]
    tree: str
    author: str


@dataclass(frozen=True, slots=True)
class MergedContent:
    """The content of a branch after a merge, compared with a merge by git alone.

    Attributes:
        is_clean: whether git merges the head without conflicts, with the same result.
        files: the paths that differ from the branch before; None if they are too many.
        messages: the messages of the head's commits; None if they are too long.
    """

    is_clean: bool
    files: tuple[str, ...] | None
    messages: str | None


def list_arrivals(place: Place, old: str, new: str, most: int) -> Sequence[Arrival]:
    """Return the commits on the first-parent line from `old` to `new`, oldest first.

    Args:
        place: the repository.
        old: the full id of the commit before them.
        new: the full id of the newest commit.
        most: the most commits to return; of more, the newest.

    Raises:
        GitError: the repository cannot be read.
    """
    form = "--format=%H%x00%P%x00%T%x00%an"
    options = ("--first-parent", "--no-show-signature", "--encoding=UTF-8", f"--max-count={most}")
    arguments = ("log", *options, form, new, f"^{old}")
    # names of authors can have other line separators of Unicode
    lines = _read(place, arguments).split("\n")
    return [_read_arrival(line) for line in reversed(lines) if line]


def read_merged(place: Place, base: str, head: str, merged: str) -> MergedContent:
    """Return the content that a merge of `head` has brought to a branch.

    Args:
        place: the repository, with all three commits.
        base: the branch's commit before.
        head: the merged commit, as it was reviewed.
        merged: the branch's commit after.

    Raises:
        GitError: the repository cannot be read.
    """
    arguments = ("rev-parse", "--verify", f"{merged}^{{tree}}")
    tree = _read(place, arguments).strip()
    try:
        expected = merge_trees(place, base, head)
        is_clean = not expected.conflicts and expected.tree == tree
    except GitError:
        is_clean = False  # no common history
    return MergedContent(
        is_clean, list_changed(place, base, merged), _read_messages(place, base, head)
    )


def read_blob(place: Place, commit: str, path: str, most_bytes: int) -> bytes | None:
    """Return the content of a file in a commit; None if there is no such file, or a larger one."""
    limits = Limits(output_bytes=most_bytes)
    answer = run(place, ("cat-file", "blob", f"{commit}:{path}"), limits=limits)
    return None if answer.status or answer.ended else answer.output


def _read_messages(place: Place, base: str, head: str) -> str | None:
    options = ("--no-show-signature", "--encoding=UTF-8", "--format=%B")
    limits = Limits(output_bytes=MAX_MESSAGES_BYTES)
    answer = run(place, ("log", *options, head, f"^{base}"), limits=limits)
    return None if answer.status or answer.ended else answer.output.decode(errors="replace")


def _read(place: Place, arguments: Sequence[str]) -> str:
    answer = run(place, arguments)
    if answer.status or answer.ended:
        raise failure(answer, arguments)
    return answer.output.decode(errors="replace")


def _read_arrival(line: str) -> Arrival:
    commit, parents, tree, author = line.split("\0", 3)
    return Arrival(commit, tuple(parents.split()), tree, author)


# ---- Which commits a push brings, and which a proposal asks for

MOST_BYTES: Final = 32 << 20
"""Of their ids: some 700,000, more than a push may have objects."""


def find_new(place: Place, tips: Sequence[str]) -> list[str]:
    """Return the commits in the history of some that no ref of the repository holds.

    Args:
        place: the repository, with the objects of a push that is not accepted yet.
        tips: whole ids.

    Raises:
        GitError: the repository cannot be read, or they are too many.
    """
    return _list(place, ("--not", "--all", "--stdin"), tips)


def find_between(place: Place, bases: Sequence[str], head: str) -> list[str]:
    """Return the commits that `head` has in its history and none of `bases` has; raises alike."""
    return _list(place, ("--stdin",), (head, *(f"^{one}" for one in bases)))


# ---- Which files a history has changed since it left a branch, whatever histories it has merged


def _list(place: Place, options: Sequence[str], lines: Sequence[str]) -> list[str]:
    arguments = ("rev-list", *options)
    answer = run(place, arguments, lines, limits=Limits(output_bytes=MOST_BYTES))
    if answer.status or answer.ended:
        raise failure(answer, arguments)
    return answer.output.decode().split()


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
        The paths; None if they are unknown: there is no such branch or commit, no common
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
    own, names = _find_changed(place, base, head), _list_names(place, base, merged)
    if own is None or names is None:
        return ()  # it then takes the rights in all projects
    return tuple(sorted(set(filter(None, names.split("\0"))) - own))


def _find_changed(place: Place, base: str, head: str) -> frozenset[str] | None:
    bases = _find_bases(place, base, head)
    if not bases or len(bases) > MOST_BASES:
        return None
    changed: set[str] = set()
    for start in bases:
        names = _list_names(place, start, head)
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
    names = _list_names(place, base, head)
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


def _list_names(place: Place, base: str, head: str) -> str | None:
    arguments = ("-r", "--no-renames", "--name-only", "-z", base, head)
    answer = compare(place, arguments, MOST_NAMES_BYTES)
    if answer.status or answer.ended or len(answer.output) > MOST_NAMES_BYTES:
        return None
    return answer.output.decode(errors="surrogateescape")
