"""Take the tags of frontends from a repository elsewhere: those that are sound, and no other.

Whoever may tag over there may tag anything. So what comes is kept aside until it is known to be
what our own tags are; what is not is never among them, and the mirror says so.
"""

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
from bbops.source.git.numbered_tags import RELEASE, read_numbered
from bbops.source.git.place import Place

MOST_AT_ONCE: Final = 100
"""Tags of one look, the newest numbers first; the next look takes more."""

LARGEST_BYTES: Final = 64 << 10
"""Of a tag with its message."""

RETRY_SECONDS: Final = 600.0
"""A tag that could not be fetched is asked for again after this."""

_ASIDE: Final = "refs/bbops/frontends"
_FORM: Final = "%(refname) %(objectname) %(objectsize) %(objecttype) %(*objecttype)"
_OWN: Final = {"core.hooksPath": os.devnull}
_NOT_OURS: Final = f"its message has no line '{RELEASE}: …'"
_NAME: Final = re.compile(r"v[1-9][0-9]{0,8}").fullmatch


@dataclass(frozen=True, slots=True)
class Taken:
    """What the mirror has of frontends.

    Attributes:
        newest: the one that is served: its tag and commit; empty without any.
        trouble: why a tag with a higher number is not; empty where there is none.
    """

    newest: str = ""
    trouble: str = ""


class FrontendTags:
    """The tags of one project's frontends in a mirror. To be used by ONE thread only.

    A tag that moves over there moves here, one that goes stays: it may be what is served.
    """

    def __init__(self, place: Place, scope: str, fetch: Callable[..., None]) -> None:
        """Args: `fetch` takes refspecs, and raises GitError."""
        self._place, self._fetch = place, fetch
        self._scope, self._prefix = scope, f"refs/tags/{scope}/"
        self._refused: dict[tuple[str, str], tuple[float, str]] = {}

    @property
    def pattern(self) -> str:
        """What to ask the original for."""
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
        listed = self._ask(("for-each-ref", f"--format={_FORM}", prefix)).decode(errors="replace")
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
    """Return why a tag is none of a frontend, empty where it may be one.

    Args:
        size: of the object that the ref names, in bytes.
        kinds: of that object, and of the one that it leads to.
    """
    if kinds != ["tag", "commit"]:
        found = "not an annotated tag" if kinds[0] != "tag" else f"a tag of a {kinds[-1]}"
        return f"it is {found}, expected an annotated tag of a commit"
    if size > LARGEST_BYTES:
        return f"its message has {size:,} bytes, at most {LARGEST_BYTES:,} are taken"
    return ""
