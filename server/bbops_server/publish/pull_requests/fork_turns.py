"""The turns of pull requests from forks, which any user of a forge can open in any number.

They share the forge's requests with the repository's own branches, with the live branch and with
reviews. Below a reserve of requests, forks wait until the forge's window ends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from bbops_server.publish.pull_requests.reading import FollowedPull

SCARCE_LIST_SECONDS: Final = 30.0
"""The least time between two lists while only the reserve is left: events cost requests, too."""


class ForkTurns:
    """The turns of the forks of one project."""

    def __init__(self) -> None:
        self._turns: dict[int, int] = {}
        self._waiting: frozenset[int] = frozenset()
        self._count = 0

    def sort(self, forks: Iterable[FollowedPull]) -> Sequence[FollowedPull]:
        """Return forks by their last update, oldest first; authors alternate.

        An author's first pull request comes before anybody's second one.
        """
        pulls = sorted(forks, key=lambda each: self._find_turn(each.pull.number))
        seen, ranks = Counter[str](), dict[int, int]()
        for pull in (each.pull for each in pulls):
            ranks[pull.number] = seen[pull.author]
            seen[pull.author] += 1
        return sorted(pulls, key=lambda each: ranks[each.pull.number])

    def _find_turn(self, number: int) -> tuple[int, int]:
        return self._turns.get(number, 0), number

    def take(self, number: int) -> None:
        """Note that a fork was updated."""
        self._count += 1
        self._turns[number] = self._count

    def wait(self, numbers: Collection[int]) -> None:
        """Note which forks wait, in place of earlier ones."""
        self._waiting = frozenset(numbers)

    def waits(self, number: int) -> bool:
        """Return whether a fork waits."""
        return number in self._waiting

    def keep_open(self, numbers: Collection[int]) -> None:
        """Forget other pull requests."""
        self._turns = {number: turn for number, turn in self._turns.items() if number in numbers}
        self._waiting &= frozenset(numbers)
