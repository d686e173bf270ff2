"""Assign the approvals of a merge request to heads. Pure.

GitLab's approvals are of a merge request, not of a commit, and stay after a push unless a setting
removes them. So an approval is of the newest version before it: an approval that is older than the
head never counts for the head.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

from bbops_server.forges.on_gitlab.shapes import (
    GitLabApproval,
    GitLabNote,
    GitLabReviewer,
    GitLabVersion,
    login,
)
from bbops_server.forges.values import PullReview

APPROVED: Final = "approved this merge request"
"""The body of the event of an approval."""

_UNKNOWN: Final = (
    "does not count: GitLab does not say when it was given; revoke it and approve again"
)


def list_verdicts(
    approvals: Sequence[GitLabApproval], reviewers: Sequence[GitLabReviewer],
    versions: Sequence[GitLabVersion], times: Mapping[str, datetime],
) -> Iterator[PullReview]:  # fmt: skip
    """Yield the approvals, then the refusals of reviewers.

    Args:
        approvals: the approvals that were not revoked.
        reviewers: the reviewers with the state of each.
        versions: the versions of the merge request, in any order.
        times: by login, the time of an approval without a time of its own.
    """
    for approval in approvals:
        who = approval.user.username
        at = approval.approved_at or times.get(who)
        head = _find_head(versions, at) if at is not None else ""
        yield PullReview(
            who, "approved", head, at or _EVER, doubt="" if head else _UNKNOWN
        )  # fmt: skip
    newest = max(versions, key=_created, default=None)
    for reviewer in reviewers:
        if reviewer.state == "requested_changes":
            head = newest.head_commit_sha if newest else ""
            yield PullReview(reviewer.user.username, "refused", head, reviewer.created_at)


def find_times(notes: Sequence[GitLabNote]) -> Mapping[str, datetime]:
    """Return the time of each user's newest approval, by the events of a merge request."""
    times = dict[str, datetime]()
    for note in notes:
        if note.system and note.created_at and note.body.strip().lower() == APPROVED:
            who = login(note.author)
            times[who] = max(note.created_at, times.get(who, note.created_at))
    return times


def _find_head(versions: Sequence[GitLabVersion], at: datetime) -> str:
    """Return the head at a time; empty before the first version."""
    before = [version for version in versions if version.created_at < at]
    newest = max(before, key=_created, default=None)
    return newest.head_commit_sha if newest else ""


def _created(version: GitLabVersion) -> datetime:
    return version.created_at


_EVER: Final = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
