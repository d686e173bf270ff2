"""The commits that were found reviewed, so that a retry does not ask the forge again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from bbops.base.disk import replace_file

_FILE: Final = "reviewed.json"


class ReviewedCommits(msgspec.Struct, frozen=True):
    """Reviewed commits after a live commit.

    Attributes:
        live: the live commit, whose rules were applied.
        approvals: the number of approvals that each has.
        heads: by commit, the head of its pull request.
    """

    live: str
    approvals: int = 0
    heads: Mapping[str, str] = {}


def read_reviewed(state: Path, live: str, approvals: int) -> ReviewedCommits:
    """Return the reviewed commits after a live commit; none with fewer approvals."""
    try:
        found = msgspec.json.decode((state / _FILE).read_bytes(), type=ReviewedCommits)
    except (OSError, msgspec.MsgspecError):
        return ReviewedCommits(live, approvals)
    is_valid = found.live == live and found.approvals >= approvals
    return found if is_valid else ReviewedCommits(live, approvals)


def record_reviewed(state: Path, reviewed: ReviewedCommits) -> None:
    """Record reviewed commits.

    Raises:
        OSError: the state folder cannot be written.
    """
    replace_file(state / _FILE, msgspec.json.encode(reviewed))
