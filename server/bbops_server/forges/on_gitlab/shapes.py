"""The parts of GitLab's JSON that the server reads, and their values."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Final

import msgspec

from bbops_server.forges.values import CheckState, PullRequest, PullState

GHOST: Final = "ghost"
"""The login of deleted users."""

Time = Annotated[datetime, msgspec.Meta(tz=True)]
"""A time with its zone; others cannot be compared."""

_STATES: Final[dict[str, PullState]] = {
    "opened": "open", "locked": "open", "closed": "closed", "merged": "merged",
}  # fmt: skip
_CHECKS: Final[dict[str, CheckState]] = {
    "success": "success", "skipped": "success", "failed": "failure", "canceled": "failure",
}  # fmt: skip


class GitLabUser(msgspec.Struct):
    """A user."""

    username: str
    id: int = 0


class GitLabGroup(msgspec.Struct):
    """A group; `full_path` has the groups that it is in, such as `acme/backend`."""

    full_path: str


class GitLabPull(msgspec.Struct):
    """A merge request; `id` is its number among all of the forge, `iid` among its project's.

    A fork that was deleted leaves no `source_project_id`.
    """

    id: int
    iid: int
    title: str
    state: str
    source_branch: str
    target_branch: str
    target_project_id: int
    web_url: str
    sha: str | None = None
    source_project_id: int | None = None
    author: GitLabUser | None = None
    draft: bool = False
    description: str | None = None
    merge_commit_sha: str | None = None
    squash_commit_sha: str | None = None
    merged_by: GitLabUser | None = None
    merge_user: GitLabUser | None = None
    detailed_merge_status: str = ""

    def value(self) -> PullRequest:
        """Return the pull request."""
        state = _STATES.get(self.state, "closed")
        is_merged = state == "merged"
        return PullRequest(
            self.iid, self.title, state, login(self.author), self.sha or "", self.source_branch,
            self.target_branch, self.web_url, is_fork=self.is_fork, is_draft=self.draft,
            merged=self.merged_commit if is_merged else "",
            merged_by=login(self.merge_user or self.merged_by) if is_merged else "",
            body=self.description or "",
        )  # fmt: skip

    @property
    def is_fork(self) -> bool:
        """Whether the head is in another project."""
        return self.source_project_id != self.target_project_id

    @property
    def merged_commit(self) -> str:
        """The commit by which it came in: a merge, a squash, or its head after a fast-forward."""
        return self.merge_commit_sha or self.squash_commit_sha or self.sha or ""


class GitLabApproval(msgspec.Struct):
    """An approval that was not revoked; older versions of GitLab leave out its time."""

    user: GitLabUser
    approved_at: Time | None = None


class GitLabApprovals(msgspec.Struct):
    """The approvals of a merge request."""

    approved_by: list[GitLabApproval] = []


class GitLabReviewer(msgspec.Struct):
    """A reviewer; `requested_changes` ends the reviewer's own approval."""

    user: GitLabUser
    state: str
    created_at: Time


class GitLabVersion(msgspec.Struct):
    """A version of a merge request: the head after a push, or after a change of the target.

    Reviewers see the changes from `base_commit_sha` to the head.
    """

    head_commit_sha: str
    created_at: Time
    base_commit_sha: str | None = None


class GitLabNote(msgspec.Struct):
    """A comment, or an event if `system` is set, which users cannot set."""

    id: int
    body: str
    author: GitLabUser | None = None
    system: bool = False
    created_at: Time | None = None


class GitLabStatus(msgspec.Struct):
    """A status or a job of a commit."""

    id: int
    name: str
    status: str
    allow_failure: bool = False
    author: GitLabUser | None = None

    @property
    def author_id(self) -> int:
        """The id of the user who posted it, or whose pipeline it is in; 0 for a deleted user."""
        return self.author.id if self.author is not None else 0

    def value(self) -> CheckState:
        """Return the result. A job that may fail does not block a merge."""
        if self.allow_failure:
            return "success"
        return _CHECKS.get(self.status, "pending")


class GitLabId(msgspec.Struct):
    """Any value with a number."""

    id: int


class GitLabEnvironment(GitLabId):
    """An environment."""

    external_url: str | None = None


class GitLabDeployment(GitLabId):
    """A deployment."""

    sha: str
    environment: GitLabEnvironment
    user: GitLabUser | None = None


def login(user: GitLabUser | None) -> str:
    """Return a user's login; `ghost` for a missing one."""
    return user.username if user else GHOST


# ---- Texts that GitLab shows without carrying out commands in them
# A line of a comment or description that begins with `/approve` or `/merge` is a command of its
# author, here of the server. Names of files and messages of checks are written by strangers.
# Source: docs.gitlab.com, "GitLab quick actions".

_COMMAND: Final = re.compile(r"^([ \t]*)/", re.MULTILINE)


def disarm(text: str) -> str:
    r"""Return a text in Markdown whose lines begin with no command: `/` becomes `\/`.

    All line breaks that GitLab accepts end a line.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return _COMMAND.sub(r"\1\\/", lines)
