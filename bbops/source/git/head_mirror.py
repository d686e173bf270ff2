"""The heads of pull requests, in a repository beside the mirror of the branches.

A user without any right can propose a head, so each fetch is bounded, and so are all together: an
attacker takes neither the disk of the server nor the time for the heads of other users.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from bbops.base.errors import GitError
from bbops.source.git.address import Address
from bbops.source.git.command import failure, run
from bbops.source.git.environment import Limits
from bbops.source.git.mirror import MAX_MEMORY_BYTES, MEMORY_SETTINGS, QUIET_SECONDS, Mirror

HEADS: Final = ("refs/pull/*/head", "refs/merge-requests/*/head")
"""Where forges keep the heads of pull requests."""

_HEAD_LIMITS: Final = Limits(
    120.0, QUIET_SECONDS, file_bytes=256 << 20, memory_bytes=MAX_MEMORY_BYTES
)
"""The limits for a head, which a user without any right can propose."""

HEADS_SECONDS: Final = 150.0
"""The time after which `take_heads` fetches no further head."""

MAX_HEADS_BYTES: Final = 2 << 30
"""The size of a repository of heads above which no further head is fetched."""

_RETRY_FACTOR: Final = 20.0
"""The pause after the failed fetch of a head, by its duration: at most 5 % of the time is lost."""

_LEAST_RETRY_SECONDS: Final = 60.0


class HeadMirror(Mirror):
    """A mirror of heads alone. To be used by ONE thread only."""

    def __init__(self, folder: Path, address: Address, *, borrows: Path) -> None:
        """Args: `borrows`: the mirror of the branches, whose objects are not fetched again."""
        super().__init__(folder, address, borrows=borrows)
        self._failed: dict[tuple[str, str], float] = {}

    def take_heads(self, refs: Sequence[str]) -> dict[str, str]:
        """Fetch the heads of pull requests into refs of the same names; remove other such heads.

        A head that cannot be fetched, since it is too large for example, is left out, and is tried
        again after a pause.

        Args:
            refs: full names, such as `refs/pull/7/head`; the first ones are fetched first.

        Returns:
            The commit of each fetched ref.

        Raises:
            GitError: as `update`.
        """
        self._prepare()
        there = self._ask(*refs) if refs else {}
        held = self._list_refs(*HEADS)
        wanted = [(ref, there[ref]) for ref in refs if ref in there]
        if lines := [f"delete {ref}" for ref in held if ref not in there]:
            run(self._place, ("update-ref", "--stdin"), lines)
        self._fetch_heads([head for head in wanted if held.get(head[0]) != head[1]])
        held = self._list_refs(*HEADS)
        return {ref: commit for ref, commit in wanted if held.get(ref) == commit}

    def _fetch_heads(self, heads: Sequence[tuple[str, str]]) -> None:
        """Fetch heads until the time or the space for them is used up."""
        end = time.monotonic() + HEADS_SECONDS
        self._failed = {head: self._failed[head] for head in heads if head in self._failed}
        for head in heads:
            now = time.monotonic()
            if now > end or not self._has_room():
                return
            if self._failed.get(head, 0.0) <= now:
                self._fetch_head(head)

    def _fetch_head(self, head: tuple[str, str]) -> None:
        started = time.monotonic()
        try:
            self._fetch(f"+{head[0]}:{head[0]}", limits=_HEAD_LIMITS)
        except GitError:
            self._clear()  # git leaves the pack of an interrupted fetch
            now = time.monotonic()
            pause = max(_LEAST_RETRY_SECONDS, _RETRY_FACTOR * (now - started))
            self._failed[head] = now + pause
        else:
            self._failed.pop(head, None)

    def _has_room(self) -> bool:
        """Return whether the heads take less than their limit, after a removal of old ones."""
        if measure_folder(self._folder / "objects") < MAX_HEADS_BYTES:
            return True
        settings = {**MEMORY_SETTINGS, "core.hooksPath": os.devnull}
        limits = Limits(HEADS_SECONDS, memory_bytes=MAX_MEMORY_BYTES)
        run(self._place, ("gc", "--prune=now", "--quiet"), settings=settings, limits=limits)
        return measure_folder(self._folder / "objects") < MAX_HEADS_BYTES

    def _list_refs(self, *patterns: str) -> dict[str, str]:
        arguments = ("for-each-ref", "--format=%(objectname) %(refname)", "--", *patterns)
        answer = run(self._place, arguments)
        if answer.status or answer.ended:
            raise failure(answer, arguments)
        rows = (line.partition(" ") for line in answer.output.decode().split("\n"))
        return {ref: commit for commit, _, ref in rows if ref}


def measure_folder(folder: Path) -> int:
    """Return the size of all files below a folder, in bytes; files that are gone count as 0."""
    size_bytes = 0
    for path, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                size_bytes += (Path(path) / name).lstat().st_size
    return size_bytes
