"""What differs between two commits, as `git diff` writes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bbops.errors import GitError
from bbops.git.command import run
from bbops.git.environment import Limits
from bbops.git.place import Place

MOST_BYTES: Final = 4 << 20
_OPTIONS: Final = (
    "-r", "-p", "--no-color", "--no-ext-diff", "--no-textconv", "--find-renames", "--unified=2",
)  # fmt: skip


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
        GitError: one of them cannot be read.
    """
    arguments = ("diff-tree", *_OPTIONS, base, head, "--", *paths)
    answer = run(place, arguments, limits=Limits(output_bytes=most_bytes))
    if (answer.status or answer.ended) and len(answer.output) < most_bytes:
        raise GitError("the two cannot be compared")
    return answer.output[:most_bytes].decode(errors="replace")
