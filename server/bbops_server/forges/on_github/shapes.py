"""The parts of GitHub's JSON that the server reads, and their values."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import msgspec

from bbops_server.forges.values import CheckState, ForgeVerdict, PullRequest, PullReview, PullState

GHOST: Final = "ghost"
"""GitHub's login for deleted users."""

_VERDICTS: Final[dict[str, ForgeVerdict]] = {
    "APPROVED": "approved", "CHANGES_REQUESTED": "refused", "COMMENTED": "commented",
    "DISMISSED": "dismissed",
}  # fmt: skip
_SUCCESSES: Final = frozenset({"success", "neutral", "skipped"})


class GitHubUser(msgspec.Struct):
    """A user or a bot."""

    login: str


class _Repo(msgspec.Struct):
    id: int


class _End(msgspec.Struct):
    ref: str
    sha: str
    repo: _Repo | None = None


class GitHubPull(msgspec.Struct):
    """A pull request; lists leave `merged_by` out."""

    number: int
    title: str
    state: str
    html_url: str
    head: _End
    base: _End
    user: GitHubUser | None = None
    draft: bool = False
    body: str | None = None
    merged_at: str | None = None
    merge_commit_sha: str | None = None
    merged_by: GitHubUser | None = None
    node_id: str = ""

    def value(self) -> PullRequest:
        """Return the pull request. A head whose repository was deleted is one of a fork."""
        is_merged = self.merged_at is not None
        is_same = self.head.repo is not None and self.head.repo == self.base.repo
        state: PullState = "open" if self.state == "open" else "closed"
        return PullRequest(
            self.number, self.title, "merged" if is_merged else state,
            login(self.user), self.head.sha, self.head.ref, self.base.ref, _web(self.html_url),
            is_fork=not is_same, is_draft=self.draft,
            merged=(self.merge_commit_sha or "") if is_merged else "",
            merged_by=login(self.merged_by) if is_merged else "", body=self.body or "",
        )  # fmt: skip


def _web(url: str) -> str:
    """Return the address of a web page; empty for another one, such as a script."""
    return url if url.startswith(("https://", "http://")) else ""


class GitHubReview(msgspec.Struct):
    """A review; a draft has no time."""

    state: str
    user: GitHubUser | None = None
    commit_id: str | None = None
    submitted_at: datetime | None = None

    def value(self) -> PullReview | None:
        """Return the review; None for a draft."""
        verdict = _VERDICTS.get(self.state)
        if verdict is None or self.submitted_at is None:
            return None
        return PullReview(login(self.user), verdict, self.commit_id or "", self.submitted_at)


class GitHubEvent(msgspec.Struct):
    """An event of a pull request."""

    event: str
    created_at: datetime


class CommitUser(msgspec.Struct):
    """The account of an e-mail address; empty if it has none."""

    login: str = ""


class GitHubCommit(msgspec.Struct):
    """A commit; a user is missing if GitHub does not know the e-mail address."""

    sha: str
    author: CommitUser | None = None
    committer: CommitUser | None = None


class CheckRun(msgspec.Struct):
    """The run of a check, by an App."""

    id: int
    name: str
    status: str
    conclusion: str | None = None

    def state(self) -> CheckState:
        """Return the result: neutral and skipped runs block no merge."""
        if self.status != "completed":
            return "pending"
        return "success" if self.conclusion in _SUCCESSES else "failure"


class CheckRuns(msgspec.Struct):
    """A page of check runs."""

    check_runs: list[CheckRun]


class StatusOfCommit(msgspec.Struct):
    """A commit status, by a token."""

    context: str
    state: str

    def value(self) -> CheckState:
        """Return the result."""
        if self.state == "pending":
            return "pending"
        return "success" if self.state == "success" else "failure"


class CombinedStatus(msgspec.Struct):
    """A page of the newest status of each name."""

    statuses: list[StatusOfCommit]


class GitHubId(msgspec.Struct):
    """Any value with a number."""

    id: int


class GitHubComment(msgspec.Struct):
    """A comment of a pull request's conversation."""

    id: int
    body: str | None = None
    user: GitHubUser | None = None


class GitHubDeployment(msgspec.Struct):
    """A deployment."""

    id: int
    creator: GitHubUser | None = None


def login(user: GitHubUser | None) -> str:
    """Return a user's login; `ghost` for a deleted one."""
    return user.login if user else GHOST
