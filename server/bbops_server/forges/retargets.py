"""Approvals before a change of the target branch, which do not count. Pure.

The changes that a reviewer sees are those since the target branch. A branch with commits that were
not reviewed may be the target while approvals are given, and another branch at the merge.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from bbops_server.forges.values import PullReview

_DOUBT: Final = "was given before the target branch was changed; approve again"


def doubt_earlier(
    reviews: Sequence[PullReview], changes: Iterable[datetime]
) -> Sequence[PullReview]:
    """Return the reviews; those before or at the newest change of the target have a doubt.

    Args:
        reviews: the reviews of a pull request.
        changes: the times at which its target branch was changed.
    """
    newest = max(changes, default=None)
    if newest is None:
        return reviews
    return [
        review if review.at > newest else replace(review, doubt=_DOUBT) for review in reviews
    ]  # fmt: skip
