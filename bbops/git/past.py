"""The commits that changed one file, and the versions in which they went live."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from bbops.git.command import failure, run
from bbops.git.place import Place

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
    place: Place, path: str, limit: int, folder: str = "", head: str = "HEAD"
) -> tuple[Step, ...]:
    """Return the newest commits that changed a file, the newest first; renames are followed.

    Args:
        place: the repository.
        path: of the file, from the repository's root.
        limit: how many at most.
        folder: of the project whose versions count; empty in a repository of one.
        head: the commit whose history it is.

    Raises:
        GitError: the repository cannot be read.
    """
    options = (f"-{limit}", "--follow", "--no-show-signature", f"--format={_FIELDS}")
    rows = [line.split(_PART) for line in _ask(place, ("log", *options, head, "--", path)) if line]
    versions = _versions(place, [row[0] for row in rows], f"{folder}/v*" if folder else "v*")
    return tuple(Step(one[0], one[1], one[2], one[3], versions.get(one[0], "")) for one in rows)


def _versions(place: Place, commits: Sequence[str], tags: str) -> dict[str, str]:
    if not commits:
        return {}
    names = _ask(place, ("name-rev", "--tags", f"--refs=refs/tags/{tags}", "--", *commits))
    rows = (line.rpartition(" ") for line in names)
    found = {commit: name for commit, _, name in rows if name != "undefined"}
    return {commit: _tag(name) for commit, name in found.items()}


def _tag(name: str) -> str:
    """Return the tag of `tags/v7~2` or `v7^0`."""
    return name.removeprefix("tags/").partition("~")[0].partition("^")[0]


def _ask(place: Place, arguments: Sequence[str]) -> list[str]:
    answer = run(place, arguments)
    if answer.ended or answer.status:
        if "does not have any commits" in answer.complaint:
            return []
        raise failure(answer, arguments)
    return answer.output.decode(errors="replace").splitlines()
