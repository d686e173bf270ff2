"""The values that a forge's API takes and returns, the same for every forge."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Literal

from bbops.base.json_diagnostics import JsonDiagnostic

PullState = Literal["open", "merged", "closed"]
CheckState = Literal["pending", "success", "failure"]
ForgeVerdict = Literal["approved", "refused", "commented", "dismissed"]
LEAST_RESERVE: Final = 500
"""The requests of a window that are kept for the repository's own work."""


@dataclass(frozen=True, slots=True)
class PullRequest:
    """A pull or merge request.

    Attributes:
        author: the login of its author.
        head: the proposed commit, as the forge says.
        branch: the branch of the head, in its own repository.
        target: the branch that it changes.
        is_fork: whether the head is in another repository.
        is_draft: whether its author has marked it as not ready.
        merged: the commit by which it came in; empty while it has not.
        merged_by: the login of the user who merged it; empty while it has not.
        body: its description.
        commits: the number of its commits, on a forge that names it for the last commit of a rebase
            alone; 0 elsewhere.
    """

    number: int
    title: str
    state: PullState
    author: str
    head: str
    branch: str
    target: str
    url: str
    is_fork: bool = False
    is_draft: bool = False
    merged: str = ""
    merged_by: str = ""
    body: str = ""
    commits: int = 0


@dataclass(frozen=True, slots=True)
class NewPullRequest:
    """A pull request to open, for a branch of the same repository."""

    branch: str
    target: str
    title: str
    body: str
    is_draft: bool = False


@dataclass(frozen=True, slots=True)
class PullReview:
    """A review.

    Attributes:
        head: the commit that was reviewed; empty if it is not known.
        doubt: why an approval without a known commit does not count, after "the approval of …".
    """

    who: str
    verdict: ForgeVerdict
    head: str
    at: datetime
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class BranchRules:
    """The rules that a forge enforces for merges into a branch.

    Attributes:
        approvals: the number of required approvals.
        checks: the names of required checks.
        needs_owners: whether owners of the changed files must approve.
        patterns: patterns of names, as of a shell: each requires a check, and the success of all
            that match.
    """

    approvals: int = 0
    checks: frozenset[str] = frozenset()
    needs_owners: bool = False
    patterns: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class StatusReport:
    """A check's result at a commit.

    Attributes:
        name: such as `bbops/check`.
        summary: one line.
        url: a page with details; empty without one.
        text: details in Markdown, for a forge with annotations.
        findings: diagnostics with their files, relative to the repository's root.
    """

    commit: str
    name: str
    state: CheckState
    summary: str
    url: str = ""
    text: str = ""
    findings: tuple[JsonDiagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class Deployment:
    """The state of an environment, such as `production` or `preview/7`.

    Attributes:
        is_active: whether it serves; an inactive one ends.
        url: the address that it serves at; empty if it has none.
        is_production: whether users of the project see it.
    """

    environment: str
    commit: str
    is_active: bool
    url: str = ""
    is_production: bool = False


@dataclass(frozen=True, slots=True)
class NewRelease:
    """A release of a tag that is in the repository, or that the forge creates at `commit`."""

    tag: str
    commit: str
    name: str
    notes: str


@dataclass(frozen=True, slots=True)
class ForgeRight:
    """A right that the server needs on a forge.

    Attributes:
        name: as the forge calls it, such as `pull_requests: write`.
        purpose: what the server does with it.
        is_granted: whether the credential has it.
    """

    name: str
    purpose: str
    is_granted: bool


@dataclass(frozen=True, slots=True)
class ForgeWebhook:
    """A webhook at a forge; `last` is the response to its last delivery, empty if unknown."""

    address: str
    last: str = ""


@dataclass(frozen=True, slots=True)
class RequestBudget:
    """The requests that a forge still accepts in its window.

    Attributes:
        left: the number of requests; None if it is unknown, or the window has ended.
        limit: the number of requests in a window; None if it is unknown.
        reset_seconds: the seconds until the window ends; 0 if that is unknown.
    """

    left: int | None = None
    limit: int | None = None
    reset_seconds: float = 0.0

    @property
    def reserve(self) -> int:
        """The requests that work for strangers leaves: a tenth, at least 500, at most a half."""
        if self.limit is None:
            return LEAST_RESERVE
        return min(max(LEAST_RESERVE, self.limit // 10), self.limit // 2)

    @property
    def is_low(self) -> bool:
        """Whether only the reserve is left."""
        return self.left is not None and self.left < self.reserve

    def explain(self) -> str:
        """Return why work for strangers waits; empty if it need not."""
        if not self.is_low:
            return ""
        limit = f" of {self.limit}" if self.limit is not None else ""
        minutes = max(round(self.reset_seconds / 60), 1)
        end = f"; the forge's window ends in {minutes} min" if self.reset_seconds else ""
        return (
            f"{self.left}{limit} requests are left, and {self.reserve} are kept for own branches,"
            f" the live branch and reviews{end}"
        )


@dataclass(frozen=True, slots=True)
class GitCredential:
    """A user and a password for git over HTTPS."""

    user: str
    password: str

    def __repr__(self) -> str:
        return f"GitCredential({self.user!r}, …)"


# ---- Approvals before a change of the target branch, which do not count. Pure
# The changes that a reviewer sees are those since the target branch. A branch with commits that
# were not reviewed may be the target while approvals are given, and another branch at the merge.

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
