"""Assign the approvals of a merge request to heads. Pure.

GitLab's approvals are of a merge request, not of a commit, and stay after a push unless a setting
removes them. So an approval is of the newest version before it: an approval that is older than the
head never counts for the head. Neither does an approval of the same head with another base: after a
change of the target branch, the merge request has changes that its reviewers did not see.
"""

from __future__ import annotations

import re
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

_PUSHED: Final = re.compile(r"added \d+ (?:new )?commits?\b", re.IGNORECASE).match
_SHOWN: Final = 7
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
    newest = max(versions, key=_created, default=None)
    for approval in approvals:
        who = approval.user.username
        at = approval.approved_at or times.get(who)
        version = _find_version(versions, at) if at is not None else None
        head = version.head_commit_sha if version else ""
        yield PullReview(who, "approved", head, at or _EVER, doubt=_find_doubt(version, newest))
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


def is_push(note: GitLabNote) -> bool:
    """Return whether a note is the event of a push to the branch of a merge request."""
    return note.system and _PUSHED(note.body) is not None


def _find_version(versions: Sequence[GitLabVersion], at: datetime) -> GitLabVersion | None:
    """Return the version at a time; None before the first version."""
    before = [version for version in versions if version.created_at < at]
    return max(before, key=_created, default=None)


def _find_doubt(version: GitLabVersion | None, newest: GitLabVersion | None) -> str:
    """Return why the approval of a version does not count; empty if its head decides."""
    if version is None or newest is None or not version.head_commit_sha:
        return _UNKNOWN
    old, new = version.base_commit_sha or "", newest.base_commit_sha or ""
    if version.head_commit_sha != newest.head_commit_sha or old == new:
        return ""
    return (
        f"was of the changes since {old[:_SHOWN]}, and those since {new[:_SHOWN]} were merged, such"
        " as after a change of the target branch; revoke it and approve again"
    )


def _created(version: GitLabVersion) -> datetime:
    return version.created_at


_EVER: Final = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
