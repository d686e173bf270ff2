"""What differs between two commits, as `git diff` writes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bbops.base.errors import GitError
from bbops.source.git.command import Answer, run
from bbops.source.git.environment import Limits
from bbops.source.git.place import Place

MOST_BYTES: Final = 4 << 20
_SECONDS: Final = 8.0
_MEMORY_BYTES: Final = 512 << 20
_SETTINGS: Final = {"core.packedGitWindowSize": "32m", "core.packedGitLimit": "128m"}
"""So that large packs, of which git maps as much as it may, leave room within the memory."""

_OPTIONS: Final = (
    "-r", "-p", "--no-color", "--no-ext-diff", "--no-textconv", "--find-renames", "--unified=2",
)  # fmt: skip


def compare(place: Place, arguments: Sequence[str], most_bytes: int) -> Answer:
    """Run `git diff-tree`, at a low priority: 8 seconds, 512 MiB of memory.

    A few small trees can name 10¹² files.
    """
    limits = Limits(_SECONDS, output_bytes=most_bytes, memory_bytes=_MEMORY_BYTES, niceness=10)
    return run(place, ("diff-tree", *arguments), settings=_SETTINGS, limits=limits)


def read_patch(
    place: Place, base: str, head: str, paths: Sequence[str] = (), *, most_bytes: int = MOST_BYTES
) -> str:
    """Return the difference of two commits or trees, at most its first `most_bytes`.

    Args:
        place: the repository.
        base: what was before.
        head: what came after.
        paths: pathspecs from the repository's root; none for all files.
        most_bytes: of the answer; what is longer is cut in the middle of a line.

    Raises:
        GitError: one of them cannot be read, or too much differs.
    """
    answer = compare(place, (*_OPTIONS, base, head, "--", *paths), most_bytes)
    if (answer.status or answer.ended) and len(answer.output) < most_bytes:
        raise GitError("cannot compare the two: the difference is too large, or one is damaged")
    return answer.output[:most_bytes].decode(errors="replace")
