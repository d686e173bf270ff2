"""The parts of the JSON of Gitea and Forgejo that the server reads, and their values."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import msgspec

from bbops_server.forges.values import CheckState, ForgeVerdict, PullRequest, PullReview, PullState

GHOST: Final = "Ghost"
"""The login of deleted users."""

_VERDICTS: Final[dict[str, ForgeVerdict]] = {
    "APPROVED": "approved", "REQUEST_CHANGES": "refused", "COMMENT": "commented",
}  # fmt: skip
_STATES: Final[dict[str, CheckState]] = {
    "success": "success", "skipped": "success", "pending": "pending",
}  # fmt: skip


class GiteaUser(msgspec.Struct):
    """A user."""

    login: str
    id: int = 0


class _End(msgspec.Struct):
    """An end of a pull request; `ref` is `refs/pull/NUMBER/head` without a branch."""

    ref: str
    sha: str
    label: str = ""
    repo_id: int = 0


class GiteaPull(msgspec.Struct):
    """A pull request."""

    number: int
    title: str
    state: str
    html_url: str
    head: _End
    base: _End
    user: GiteaUser | None = None
    draft: bool = False
    body: str | None = None
    merged: bool = False
    merge_commit_sha: str | None = None
    merged_by: GiteaUser | None = None

    def value(self, commits: int = 0) -> PullRequest:
        """Return the pull request.

        A head without a branch counts as a head of a fork: readers of the repository may push it,
        to `refs/for/BRANCH`.
        """
        state: PullState = "open" if self.state == "open" else "closed"
        is_same = self.head.repo_id == self.base.repo_id
        is_branch = bool(self.head.label) and not self.head.ref.startswith("refs/")
        return PullRequest(
            self.number, self.title, "merged" if self.merged else state,
            login(self.user), self.head.sha, self.head.label or self.head.ref, self.base.ref,
            self.html_url, is_fork=not (is_same and is_branch), is_draft=self.draft,
            merged=(self.merge_commit_sha or "") if self.merged else "",
            merged_by=login(self.merged_by) if self.merged else "", body=self.body or "",
            commits=commits,
        )  # fmt: skip


class GiteaReview(msgspec.Struct):
    """A review. Only the last verdict of a reviewer who may approve is official."""

    state: str
    user: GiteaUser | None = None
    commit_id: str = ""
    submitted_at: datetime | None = None
    official: bool = False
    dismissed: bool = False

    def value(self) -> PullReview | None:
        """Return the review; None for a draft or a request.

        An approval that is not official counts as dismissed, because the forge does not count it.
        """
        verdict = _VERDICTS.get(self.state)
        if verdict is None or self.submitted_at is None:
            return None
        if self.dismissed or (verdict == "approved" and not self.official):
            verdict = "dismissed"
        return PullReview(login(self.user), verdict, self.commit_id, self.submitted_at)


class GiteaEvent(msgspec.Struct):
    """An event or comment of a pull request."""

    type: str
    created_at: datetime


class GiteaCommit(msgspec.Struct):
    """A commit; a user is missing if the forge does not know the e-mail address."""

    sha: str
    author: GiteaUser | None = None
    committer: GiteaUser | None = None


class GiteaStatus(msgspec.Struct):
    """A commit status. A warning blocks a merge, as for the forge itself."""

    context: str
    status: str

    def value(self) -> CheckState:
        """Return the result."""
        return _STATES.get(self.status, "failure")


class GiteaStatuses(msgspec.Struct):
    """A page of the newest status of each name."""

    statuses: list[GiteaStatus] | None = None


class GiteaId(msgspec.Struct):
    """Any value with a number."""

    id: int


class GiteaComment(msgspec.Struct):
    """A comment of a pull request's conversation."""

    id: int
    body: str = ""
    user: GiteaUser | None = None


def login(user: GiteaUser | None) -> str:
    """Return a user's login; `Ghost` for a deleted one."""
    return user.login if user else GHOST
