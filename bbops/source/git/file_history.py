"""The commits that changed one file, and the versions in which they went live."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bbops.source.git.command import failure, run
from bbops.source.git.environment import Limits
from bbops.source.git.place import Place
from bbops.source.git.series import Version

MOST_HISTORY_BYTES = 256 << 20
"""Of the ids of commits with those of their parents: some two million."""

_FIELDS = "%H%x1f%aI%x1f%an%x1f%s"
_PART = "\x1f"


class Step(NamedTuple):
    """One commit of a file's past; `version` is the first that holds it, empty for none."""

    commit: str
    at: str
    author: str
    subject: str
    version: str


def read_past(
    place: Place, path: str, limit: int, versions: Sequence[Version] = (), head: str = "HEAD"
) -> tuple[Step, ...]:
    """Return the newest commits that changed a file, newest first; renames are followed.

    Args:
        place: the repository.
        path: of the file, from the repository's root.
        limit: how many at most.
        versions: those of the project.
        head: the commit whose history it is.

    Raises:
        GitError: the repository cannot be read.
    """
    options = (f"-{limit}", "--follow", "--no-show-signature", f"--format={_FIELDS}")
    rows = [line.split(_PART) for line in _ask(place, ("log", *options, head, "--", path)) if line]
    names = _name(place, versions) if rows else {}
    return tuple(Step(one[0], one[1], one[2], one[3], names.get(one[0], "")) for one in rows)


def _name(place: Place, versions: Sequence[Version]) -> dict[str, str]:
    """Return the first version that holds each commit that one of them holds; O(history)."""
    if not versions:
        return {}
    starts = [one.commit for one in versions]
    rows = map(str.split, _ask(place, ("rev-list", "--parents", "--stdin"), starts))
    parents = {row[0]: row[1:] for row in rows}
    names: dict[str, str] = {}
    for one in sorted(versions, key=lambda each: each.number):
        _spread(one, parents, names)
    return names


def _spread(version: Version, parents: Mapping[str, Sequence[str]], names: dict[str, str]) -> None:
    waiting = [version.commit]
    while waiting:
        commit = waiting.pop()
        if commit not in names:
            names[commit] = version.name
            waiting += parents.get(commit, ())


def _ask(place: Place, arguments: Sequence[str], lines: Sequence[str] = ()) -> list[str]:
    limits = Limits(output_bytes=MOST_HISTORY_BYTES)
    answer = run(place, arguments, lines, limits=limits)
    if answer.ended or answer.status:
        if "does not have any commits" in answer.complaint:
            return []
        raise failure(answer, arguments)
    return answer.output.decode(errors="replace").splitlines()
