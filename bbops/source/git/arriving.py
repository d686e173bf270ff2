"""Which commits a push brings, and which a proposal asks for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bbops.source.git.command import failure, run
from bbops.source.git.environment import Limits
from bbops.source.git.place import Place

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
