"""Versions: the annotated tags `v<N>` of what went live, which are a project's history.

A repository of several projects has `<folder>/v<N>` for the one in that folder. What else is known
of a publication stands in the tag's message, one fact a line, as in a commit's trailers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bbops.errors import GitError
from bbops.git.command import failure, run
from bbops.git.place import Place
from bbops.git.writing import add_tag

RELEASE = "Release"
"""The fact without which a tag is somebody else's."""

_FIELDS = ("refname:strip=2", "*objectname", "*objecttype", "taggerdate:iso-strict", "contents")
_FACT = re.compile(r"([A-Z][A-Za-z-]{0,40}): (.*)").fullmatch
_MOST_TRIES = 20
_PART, _END = "\x1f", "\x1e"


@dataclass(frozen=True, slots=True)
class Version:
    """A release that went live.

    Attributes:
        name: of the tag, `v7`.
        commit: what went live.
        at: when, as ISO 8601.
        subject: the first line of its commit's message.
        facts: what else the tag says: Release, Revision, Author, Proposal, Plan.
    """

    name: str
    number: int
    commit: str
    at: str
    subject: str
    facts: Mapping[str, str]


def read_versions(place: Place, folder: str = "") -> tuple[Version, ...]:
    """Return every version, the newest first; O(tags).

    Args:
        place: the repository.
        folder: of the project in a repository of several; else empty.

    Raises:
        GitError: the repository cannot be read.
    """
    scope = f"{folder}/" if folder else ""
    form = _PART.join(f"%({one})" for one in _FIELDS) + _END
    arguments = ("for-each-ref", f"--format={form}", f"refs/tags/{scope}v*")
    answer = run(place, arguments)
    if answer.status or answer.ended:
        raise failure(answer, arguments)
    rows = answer.output.decode(errors="replace").split(_END)
    found = filter(None, (_read(row.lstrip("\n"), scope) for row in rows))
    return tuple(sorted(found, key=lambda one: one.number, reverse=True))


def add_version(
    place: Place, commit: str, subject: str, facts: Mapping[str, str], folder: str = ""
) -> str:
    """Tag what went live with the next number; return the tag's name.

    A commit that is the newest version already keeps its tag: other values of the environment are
    no new version. A number that somebody's own tag has taken is left out.

    Raises:
        GitError: it cannot be written.
    """
    scope = f"{folder}/" if folder else ""
    for taken in range(_MOST_TRIES):
        versions = read_versions(place, folder)
        if versions and versions[0].commit == commit:
            return versions[0].name
        number = (versions[0].number if versions else _highest(place, scope)) + 1 + taken
        name = f"{scope}v{number}"
        lines = [f"{_one_line(subject)}", "", *(f"{key}: {_one_line(facts[key])}" for key in facts)]
        if add_tag(place, name, commit, "\n".join(lines)):
            return name
    raise GitError(f"the next {_MOST_TRIES} versions have tags that are not ours")


def find_version(place: Place, name: str, folder: str = "") -> Version:
    """Return a version by its name, `v7`, or its number.

    Raises:
        GitError: there is none; says which there are.
    """
    versions = read_versions(place, folder)
    wanted = name.rpartition("/")[2].removeprefix("v")
    for one in versions:
        if str(one.number) == wanted:
            return one
    hint = f"the newest is {versions[0].name}" if versions else "nothing went live yet"
    raise GitError(f"there is no version '{name}'", hint=f"{hint}; 'bbops versions' lists them")


def _highest(place: Place, scope: str) -> int:
    """Return the highest number of a tag that looks like ours, whoever made it."""
    answer = run(place, ("for-each-ref", "--format=%(refname:strip=2)", f"refs/tags/{scope}v*"))
    names = answer.output.decode(errors="replace").split()
    return max((number for one in names if (number := _number(one, scope))), default=0)


def _read(row: str, scope: str) -> Version | None:
    if row.count(_PART) < len(_FIELDS) - 1:
        return None
    name, commit, kind, at, text = row.split(_PART, len(_FIELDS) - 1)
    number, facts = _number(name, scope), dict(_facts(text))
    if not number or RELEASE not in facts or kind != "commit":
        return None
    return Version(name, number, commit, at, text.partition("\n")[0], facts)


def _facts(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines()[1:]:
        if found := _FACT(line):
            yield found[1], found[2]


def _number(name: str, scope: str) -> int:
    digits = name.removeprefix(scope).removeprefix("v")
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 10 else 0


def _one_line(text: str) -> str:
    return " ".join(text.split()).strip()[:500] or "-"
