"""Earlier versions: the history of a file, and the commits that restore it or a tree.

History only grows: what went wrong stays to be read, and going forward again is another commit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from bbops.base.diagnostics import suggest
from bbops.base.errors import GitError
from bbops.source.git.command import failure, run
from bbops.source.git.environment import Limits
from bbops.source.git.place import Place
from bbops.source.git.series import Version
from bbops.source.git.writing import put_files, put_folder

_SUFFIX = ".yaml"

Files = dict[str, tuple[str, str]]
"""Path → (mode, blob id)."""


def restore_tree(
    place: Place, head: str, version: Version, *, under: str = "", only: Sequence[str] = ()
) -> str:
    """Return the tree of `head` with a project as it was in a version.

    Args:
        place: the repository.
        head: the commit that the tree is to follow.
        version: what to go back to.
        under: the project's folder in a repository of several.
        only: resources, files or folders of the project; all of it without any.

    Raises:
        GitError: nothing would change, or there was nothing of such a name.
    """
    if only:
        tree = put_files(place, head, _pick(place, head, version, under, only))
    else:
        tree = put_folder(place, head, under, version.commit)
    if tree == _tree_of(place, head):
        what = ", ".join(only) or "everything"
        raise GitError(f"{what} is as it was in {version.short} already")
    return tree


def describe_restoring(version: Version, only: Sequence[str]) -> str:
    """Return the message of the commit."""
    what = f"{', '.join(only)} " if only else ""
    return f"Roll {what}back to {version.short}\n\nRestores: {version.name} {version.commit}"


def _pick(
    place: Place, head: str, version: Version, under: str, only: Sequence[str]
) -> dict[str, tuple[str, str] | None]:
    prefix = f"{under}/" if under else ""
    before, now = _files(place, version.commit, prefix), _files(place, head, prefix)
    picked: dict[str, tuple[str, str] | None] = {}
    for name in only:
        found = [one for one in {**before, **now} if _is_of(one.removeprefix(prefix), name)]
        if not found:
            raise _unknown(name, (one.removeprefix(prefix) for one in {**before, **now}))
        picked |= {one: before.get(one) for one in found}
    return {path: put for path, put in picked.items() if put or path in now}


def _is_of(path: str, name: str) -> bool:
    """Return whether a file is what somebody names: it, the resource in it, or its folder."""
    name = name.strip("/")
    return path in {name, f"{name}{_SUFFIX}"} or path.startswith(f"{name}/")


def _files(place: Place, commit: str, prefix: str) -> Files:
    paths = ("--", prefix) if prefix else ()
    arguments = ("ls-tree", "-r", "-z", "--full-tree", commit, *paths)
    answer = run(place, arguments)
    if answer.status or answer.ended:
        raise failure(answer, arguments)
    rows = filter(None, answer.output.decode(errors="surrogateescape").split("\0"))
    found: Files = {}
    for row in rows:
        mode, _, rest = row.partition(" ")
        blob, _, path = rest.partition(" ")[2].partition("\t")
        found[path] = mode, blob
    return found


def _unknown(name: str, paths: Iterable[str]) -> GitError:
    names = [one.removesuffix(_SUFFIX) for one in paths]
    return GitError(
        f"there is no '{name[:100]}' in either commit",
        hint=suggest(name, names) or "name a resource, such as endpoints/orders/list",
    )


def _tree_of(place: Place, commit: str) -> str:
    return run(place, ("rev-parse", f"{commit}^{{tree}}")).output.decode().strip()


# ---- The commits that changed one file, and the versions in which they went live

MOST_HISTORY_BYTES = 256 << 20
"""The most bytes of a list of commits with their parents: some two million ids."""

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
        versions: the versions of the project.
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
    for version in sorted(versions, key=lambda each: each.number):
        _spread(version, parents, names)
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
