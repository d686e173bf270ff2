"""Heads of pull requests from forks whose code may run on this server.

A maintainer allows one commit, by its full id: an author can make two commits whose ids begin
alike, 12 digits in seconds. Another head of the same pull request is another decision.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from bbops.base.disk import replace_file
from bbops.base.errors import ServerError
from bbops_server.publish.pull_requests.reading import FollowedPull


class AllowedHead(msgspec.Struct, frozen=True):
    """A decision: the commit, and the e-mail address of the maintainer."""

    head: str
    who: str


class ForkHeads:
    """The decisions of a project by the number of the pull request, in its state folder."""

    def __init__(self, state: Path) -> None:
        """Read the decisions; none if the file is missing or damaged."""
        self._file = state / "fork-heads.json"
        try:
            self._allowed = msgspec.json.decode(
                self._file.read_bytes(), type=dict[int, AllowedHead]
            )
        except (OSError, msgspec.MsgspecError):
            self._allowed = {}
        self._withdrawn = frozenset(self._allowed)
        """Decisions that do not count: all of them before the first check."""

    def allows(self, number: int, head: str) -> bool:
        """Return whether the code of a head may run."""
        allowed = self._allowed.get(number)
        is_withdrawn = number in self._withdrawn
        return allowed is not None and allowed.head == head and not is_withdrawn

    def check(self, may_allow: Callable[[str], bool]) -> None:
        """Ignore decisions of users who may not make them any more; blocks.

        Args:
            may_allow: returns whether the user of an e-mail address may allow heads.

        Raises:
            BbopsError: the users cannot be read; the same decisions count as before.
        """
        allowed = self._allowed
        known = {who: may_allow(who) for who in {head.who for head in allowed.values()}}
        self._withdrawn = frozenset(
            number for number, head in allowed.items() if not known[head.who]
        )

    def allow(self, number: int, head: str, who: str) -> None:
        """Allow a head, in place of an earlier one.

        Raises:
            ServerError: the file cannot be written.
        """
        self._write({**self._allowed, number: AllowedHead(head, who)})
        self._withdrawn -= {number}

    def keep_open(self, numbers: frozenset[int]) -> None:
        """Forget the decisions about other pull requests. Raises as `allow`."""
        kept = {number: head for number, head in self._allowed.items() if number in numbers}
        if kept != self._allowed:
            self._write(kept)

    def _write(self, allowed: dict[int, AllowedHead]) -> None:
        try:
            replace_file(self._file, msgspec.json.encode(allowed))
        except OSError as error:
            reason = (error.strerror or "no reason given").lower()
            raise ServerError(f"cannot write '{self._file}': {reason}") from None
        self._allowed = allowed


# ---- turns of pull requests from forks; any user of a forge can open any number of them
# They share the forge's requests with the repository's own branches, with the live branch and with
# reviews. Below a reserve of requests, forks wait until the forge's window ends.

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
