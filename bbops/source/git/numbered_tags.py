"""Annotated tags with a number, `PREFIXv7`, and the versions of projects in them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from bbops.base.errors import GitError
from bbops.source.git.command import failure, run
from bbops.source.git.environment import Limits
from bbops.source.git.place import Place
from bbops.source.git.series import Series, Version, read_commit
from bbops.source.git.writing import add_tag

RELEASE: Final = "Release"
"""The fact without which a tag is somebody else's."""

MOST_LISTED_BYTES: Final = 64 << 20
"""Of all tags with their messages: some 100,000."""

_FIELDS = ("refname:strip=2", "*objectname", "*objecttype", "taggerdate:iso-strict", "contents")
_FORM: Final = "%1f".join(f"%({one})" for one in _FIELDS) + "%1e"
_FACT = re.compile(r"([A-Z][A-Za-z-]{0,40}): (.*)").fullmatch
_NUMBER = re.compile(r"(?:.*/)?v(0*[1-9][0-9]{0,8})").fullmatch
_MOST_TRIES: Final = 20
_PART, _END = "\x1f", "\x1e"


def read_numbered(place: Place, prefix: str) -> tuple[Version, ...]:
    """Return the tags of ours that begin with a prefix, the highest number first; O(tags).

    Args:
        place: the repository.
        prefix: what stands before `v7`: empty, or with a `/` at its end. `**/` is any.

    Raises:
        GitError: the repository cannot be read.
    """
    output = _list(place, prefix, _FORM)
    rows = (_read(row.lstrip("\n")) for row in output.split(_END))
    return tuple(sorted(filter(None, rows), key=lambda one: (one.number, one.at), reverse=True))


def add_numbered(
    place: Place, prefix: str, above: int, commit: str, subject: str, facts: Mapping[str, str]
) -> str:  # fmt: skip
    """Tag a commit with the next number; return the tag's name.

    A number that another tag of the prefix has, whoever made it, is never used again.

    Args:
        place: the repository.
        prefix: as `read_numbered` takes it, of one series.
        above: the next number is higher.
        commit: what is tagged.
        subject: the first line of the tag's message.
        facts: the other lines.

    Raises:
        GitError: it cannot be written.
    """
    taken = (_read_number(name) for name in _list(place, prefix, "%(refname:strip=2)").split())
    number = max((above, *taken))
    lines = [_one_line(subject), "", *(f"{key}: {_one_line(facts[key])}" for key in facts)]
    for more in range(1, _MOST_TRIES + 1):
        name = f"{prefix}v{number + more}"
        if add_tag(place, name, commit, "\n".join(lines)):
            return name
    raise GitError(f"the next {_MOST_TRIES} versions have tags that bbops did not create")


def _list(place: Place, prefix: str, form: str) -> str:
    arguments = ("for-each-ref", f"--format={form}", f"refs/tags/{prefix}v[0-9]*")
    answer = run(place, arguments, limits=Limits(output_bytes=MOST_LISTED_BYTES))
    if answer.status or answer.ended:
        raise failure(answer, arguments)
    return answer.output.decode(errors="replace")


def _read(row: str) -> Version | None:
    if row.count(_PART) < len(_FIELDS) - 1:
        return None
    name, commit, kind, at, text = row.split(_PART, len(_FIELDS) - 1)
    number, facts = _read_number(name), dict(_facts(text.splitlines()))
    if not number or RELEASE not in facts or kind != "commit":
        return None
    return Version(name, number, commit, at, text.partition("\n")[0], facts)


def _facts(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    for line in lines[1:]:
        if found := _FACT(line):
            yield found[1], found[2]


def _read_number(name: str) -> int:
    found = _NUMBER(name)
    return int(found[1]) if found else 0


def _one_line(text: str) -> str:
    return " ".join(text.split()).strip()[:500] or "-"


# ---- Read and write the versions of projects in a repository


def read_versions(place: Place) -> tuple[Version, ...]:
    """Return every version of every project, the highest number first; O(tags).

    A tag that was moved to another commit than its message names is none.

    Raises:
        GitError: the repository cannot be read.
    """
    found = read_numbered(place, "**/")
    return tuple(one for one in found if read_commit(one) == one.commit)


def read_series(place: Place, series: Series) -> tuple[Version, ...]:
    """Return the versions of one project. Arguments and errors as of `read_versions`."""
    return tuple(filter(series.holds, read_versions(place)))


def add_version(
    place: Place, commit: str, subject: str, facts: Mapping[str, str], series: Series
) -> str:
    """Tag what went live with the next number; return the tag's name.

    A number is never used twice, whoever has a tag of it.

    Raises:
        GitError: it cannot be written.
    """
    known = read_series(place, series)
    above = known[0].number if known else 0
    return add_numbered(place, series.prefix, above, commit, subject, {**facts, **series.facts})
