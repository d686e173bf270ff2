"""Annotated tags with a number, `PREFIXv7`: versions of projects, tags of frontends."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from time import monotonic
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
# ---- Take the tags of frontends from a repository elsewhere: those that are sound, and no other
# Whoever may tag over there may tag anything. So what comes is kept aside until it is known to be
# what our own tags are; what is not is never among them, and the mirror says so.

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


MOST_AT_ONCE: Final = 100
"""Tags of one look, the newest numbers first; the next look takes more."""

LARGEST_BYTES: Final = 64 << 10
"""The most bytes of a tag with its message."""

RETRY_SECONDS: Final = 600.0
"""The time after which a tag that could not be fetched is fetched again."""

_ASIDE: Final = "refs/bbops/frontends"
_FRONTEND_FORM: Final = "%(refname) %(objectname) %(objectsize) %(objecttype) %(*objecttype)"
_OWN: Final = {"core.hooksPath": os.devnull}
_NOT_OURS: Final = f"its message has no line '{RELEASE}: …'"
_NAME: Final = re.compile(r"v[1-9][0-9]{0,8}").fullmatch


@dataclass(frozen=True, slots=True)
class Taken:
    """The frontends of a mirror.

    Attributes:
        newest: tag and commit of the served frontend; empty without a frontend.
        trouble: why a tag with a higher number is not; empty where there is none.
    """

    newest: str = ""
    trouble: str = ""


class FrontendTags:
    """The tags of one project's frontends in a mirror. To be used by ONE thread only.

    A tag that moves in the original moves here; a deleted tag stays: it may be served.
    """

    def __init__(self, place: Place, scope: str, fetch: Callable[..., None]) -> None:
        """Args: `fetch` takes refspecs, and raises GitError."""
        self._place, self._fetch = place, fetch
        self._scope, self._prefix = scope, f"refs/tags/{scope}/"
        self._refused: dict[tuple[str, str], tuple[float, str]] = {}

    @property
    def pattern(self) -> str:
        """The pattern of the tags to fetch from the original."""
        return f"{self._prefix}v*"

    def take(self, there: Mapping[str, str]) -> Taken:
        """Bring what is new.

        Args:
            there: refs over there with their ids, those that `pattern` names among them.

        Raises:
            GitError: the mirror cannot be read or written.
        """
        tags = {name: id_ for ref, id_ in there.items() if (name := self._read(ref))}
        held = {ref.removeprefix(self._prefix): id_ for ref, id_, *_ in self._list(self._prefix)}
        new = (one for one in tags.items() if held.get(one[0]) != one[1])
        wanted = sorted(filter(self._is_open, new), key=lambda one: _number(one[0]), reverse=True)
        if wanted:
            self._bring(dict(wanted[:MOST_AT_ONCE]))
        return self._tell(tags)

    def _bring(self, tags: Mapping[str, str]) -> None:
        """Fetch tags; where one of them keeps the others away, the newest alone."""
        try:
            self._fetch(*(f"+{self._prefix}{one}:{_ASIDE}/{one}" for one in tags))
        except GitError as error:
            newest = next(iter(tags))
            if len(tags) > 1:
                self._bring({newest: tags[newest]})
            else:
                self._refuse(newest, tags[newest], error.message, RETRY_SECONDS)
        else:
            self._sort()

    def _sort(self) -> None:
        """Put what is sound among the tags, and let go of the rest."""
        lines: list[str] = []
        for ref, id_, size, *kinds in self._list(f"{_ASIDE}/"):
            name = ref.removeprefix(f"{_ASIDE}/")
            if complaint := _complain(int(size), kinds):
                self._refuse(name, id_, complaint, inf)
            else:
                lines.append(f"update {self._prefix}{name} {id_}")
            lines.append(f"delete {ref}")
        self._ask(("update-ref", "--stdin"), lines)

    def _tell(self, tags: Mapping[str, str]) -> Taken:
        known = read_numbered(self._place, f"{self._scope}/")
        newest = f"{known[0].name} {known[0].commit}" if known else ""
        number = known[0].number if known else 0
        highest = max(tags, key=_number, default="v0")
        if _number(highest) <= number:
            return Taken(newest)
        _, why = self._refused.get((highest, tags[highest]), (0.0, _NOT_OURS))
        return Taken(newest, f"tag '{self._scope}/{highest}' is not published: {why}")

    def _refuse(self, name: str, id_: str, why: str, seconds: float) -> None:
        self._refused[name, id_] = monotonic() + seconds, why
        while len(self._refused) > MOST_AT_ONCE * 10:
            del self._refused[next(iter(self._refused))]

    def _is_open(self, tag: tuple[str, str]) -> bool:
        return self._refused.get(tag, (0.0, ""))[0] <= monotonic()

    def _list(self, prefix: str) -> Iterator[list[str]]:
        listed = self._ask(("for-each-ref", f"--format={_FRONTEND_FORM}", prefix)).decode(
            errors="replace"
        )
        return map(str.split, listed.splitlines())

    def _ask(self, arguments: Sequence[str], lines: Sequence[str] = ()) -> bytes:
        answer = run(self._place, arguments, lines, settings=_OWN)
        if answer.status or answer.ended:
            raise failure(answer, arguments)
        return answer.output

    def _read(self, ref: str) -> str:
        """Return the name of a tag of ours without its scope; empty for another ref."""
        name = ref.removeprefix(self._prefix)
        return name if ref.startswith(self._prefix) and _NAME(name) else ""


def _number(name: str) -> int:
    return int(name[1:])


def _complain(size: int, kinds: Sequence[str]) -> str:
    """Return why a tag is not a frontend's; empty if it may be.

    Args:
        size: of the object that the ref names, in bytes.
        kinds: the kinds of that object and of its target.
    """
    if kinds != ["tag", "commit"]:
        found = "not an annotated tag" if kinds[0] != "tag" else f"a tag of a {kinds[-1]}"
        return f"it is {found}, expected an annotated tag of a commit"
    if size > LARGEST_BYTES:
        return f"its message has {size:,} bytes, at most {LARGEST_BYTES:,} are taken"
    return ""
