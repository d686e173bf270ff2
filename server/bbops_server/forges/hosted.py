"""The operations of a hosted forge, the same for each kind.

Every call is asynchronous, and raises ForgeError if the forge cannot carry it out. A call that the
forge rejects for a while (its limits, an outage) raises ForgeAway with the time to wait.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

from bbops.base.errors import BbopsError
from bbops_server.forges.values import (
    BranchRules,
    CheckState,
    Deployment,
    ForgeRight,
    ForgeWebhook,
    GitCredential,
    NewPullRequest,
    NewRelease,
    PullRequest,
    PullReview,
    RequestBudget,
    StatusReport,
)

Capability = Literal["annotations", "deployments", "releases", "sections", "teams"]
"""An ability that some forges or credentials lack; `sections` are those of CODEOWNERS."""


class ForgeError(BbopsError):
    """The forge rejects a request, or its response is not valid."""


class ForgeAway(ForgeError):
    """The forge cannot be reached, or limits requests.

    Attributes:
        wait_seconds: the pause that the forge asks for; 0 without one.
        is_sent: whether a write was sent without an answer, so that the forge may have done it.
    """

    def __init__(
        self, message: str, hint: str = "", *, wait_seconds: float = 0.0, is_sent: bool = False
    ) -> None:
        super().__init__(message, hint=hint)
        self.wait_seconds, self.is_sent = wait_seconds, is_sent


class ForgeForbidden(ForgeError):
    """The credential is not valid any more, or lacks a right."""


class ForgeRejected(ForgeForbidden):
    """The credential is not valid any more."""


class ForgeGone(ForgeError):
    """The repository, pull request or comment does not exist, or the credential may not see it."""


class ForgeConflict(ForgeError):
    """The forge's state has changed in the meantime: another head, or a merge that is blocked."""


class HostedForge(Protocol):
    """A repository on a hosted forge."""

    repository: str
    """The path of the repository, such as `acme/shop`."""

    url: str
    """The address of the forge, without a final slash."""

    capabilities: frozenset[Capability]
    pull_ref: str
    """The ref of a pull request's head in git, with `{number}`."""

    @property
    def budget(self) -> RequestBudget:
        """The requests that are left in the forge's window, of which some are a reserve."""
        ...

    async def list_open(self, target: str) -> Sequence[PullRequest]:
        """Return the open pull requests of a branch, newest first. One conditional request."""
        ...

    async def get(self, number: int) -> PullRequest:
        """Return a pull request. Raises: ForgeGone: it does not exist."""
        ...

    async def find(self, branch: str, target: str) -> PullRequest | None:
        """Return the open pull request of a branch of this repository."""
        ...

    async def find_merged(self, commit: str) -> Sequence[PullRequest]:
        """Return the merged pull requests that brought a commit, however they were merged."""
        ...

    async def open(self, wish: NewPullRequest) -> PullRequest:
        """Open a pull request. Raises: ForgeConflict: the branch has one already."""
        ...

    async def merge(self, number: int, head: str) -> str:
        """Merge a pull request by the forge's rules; return the commit.

        It is empty if the pull request has entered the merge queue of its branch: the forge merges
        it later.

        Raises:
            ForgeConflict: its head is not `head` any more, or the forge's rules block it.
        """
        ...

    async def close(self, number: int) -> None:
        """Close a pull request without a merge."""
        ...

    async def list_reviews(self, number: int) -> Sequence[PullReview]:
        """Return the reviews of a pull request, oldest first."""
        ...

    async def list_authors(self, number: int) -> frozenset[str]:
        """Return the logins of the authors and committers of a pull request's commits."""
        ...

    async def read_rules(self, branch: str) -> BranchRules:
        """Return the rules for merges into a branch."""
        ...

    async def list_checks(self, commit: str) -> Mapping[str, CheckState]:
        """Return the newest result of each check and status of a commit."""
        ...

    async def may_write(self, login: str) -> bool:
        """Return whether a user may push to the repository, so that their approval counts."""
        ...

    async def login_of(self, subject: str) -> str:
        """Return the login of a user, by the id that sign-in has reported."""
        ...

    async def is_team_member(self, team: str, login: str) -> bool:
        """Return whether a user is in a team, such as `acme/backend`."""
        ...

    async def report(self, status: StatusReport, known: str = "") -> str:
        """Set the result of a check; return its id, which `known` repeats at the next change."""
        ...

    async def find_comment(self, number: int, marker: str) -> str:
        """Return the id of the credential's own comment that begins with a marker, else empty."""
        ...

    async def comment(self, number: int, body: str, known: str = "") -> str:
        """Create a comment, or change the comment `known`; return its id.

        Raises:
            ForgeGone: the comment was deleted.
        """
        ...

    async def deploy(self, deployment: Deployment, known: str = "") -> str:
        """Set the state of an environment; return the deployment's id.

        Args:
            deployment: the state.
            known: the id of this commit's deployment, to change its state.
        """
        ...

    async def find_deployment(self, environment: str, commit: str) -> str:
        """Return the id of the newest deployment of a commit to an environment, else empty."""
        ...

    async def release(self, release: NewRelease) -> None:
        """Create a release; do nothing if its tag has one."""
        ...

    async def check_rights(self) -> Sequence[ForgeRight]:
        """Return the rights that the server needs, and whether the credential has each."""
        ...

    async def set_webhook(self, address: str, secret: str) -> None:
        """Create the webhook of an address, or replace its secret.

        Raises:
            ForgeForbidden: the credential may not manage webhooks.
        """
        ...

    async def find_webhook(self, address: str) -> ForgeWebhook | None:
        """Return the webhook of an address. Raises as `set_webhook`."""
        ...

    async def git_credential(self) -> GitCredential:
        """Return the credential for git over HTTPS."""
        ...

    async def bot_logins(self) -> frozenset[str]:
        """Return the logins that the server acts as; their approvals never count.

        The first call asks the forge, which alone knows the login of a credential.
        """
        ...

    async def aclose(self) -> None:
        """Close the connections."""
        ...
