"""New commits of a branch, of a push and of a proposal, and the content of a merge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bbops.base.errors import GitError
from bbops.source.git.command import failure, run
from bbops.source.git.environment import Limits
from bbops.source.git.place import Place
from bbops.source.git.reach import list_changed
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


def _list(place: Place, options: Sequence[str], lines: Sequence[str]) -> list[str]:
    arguments = ("rev-list", *options)
    answer = run(place, arguments, lines, limits=Limits(output_bytes=MOST_BYTES))
    if answer.status or answer.ended:
        raise failure(answer, arguments)
    return answer.output.decode().split()
