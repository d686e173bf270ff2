"""Heads of pull requests from forks whose code may run on this server.

A maintainer allows one commit, by its full id: an author can make two commits whose ids begin
alike, 12 digits in seconds. Another head of the same pull request is another decision.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from bbops.base.disk import replace_file
from bbops.base.errors import ServerError


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
