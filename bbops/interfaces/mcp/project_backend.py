"""The interface between the tools of a project and their backend: a server, or a checkout.

A backend acts for one user; each method refuses an action that the user may not do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Protocol, TypeVar

import msgspec
from msgspec import Meta

from bbops.base.json_work import AgentCall, AgentRunStory, JobList, JobStory, TestedAddon
from bbops.interfaces.mcp.models import ProposalSummary, ToolDiagnostic
from bbops.interfaces.mcp.operation import RepositoryOperation

T = TypeVar("T", bound=msgspec.Struct)
G = TypeVar("G", bound=msgspec.Struct)


class ProjectState(msgspec.Struct, frozen=True):
    """The state of a project on its server.

    Attributes:
        published: the live commit; empty without one, or without a server.
        message: the reason why the newest commit is not live, or an empty text.
        may: permissions: `read`, `change`, `propose`, `merge`, `requests`.
    """

    name: str
    url: str = ""
    published: str = ""
    version: str = ""
    message: str = ""
    may: tuple[str, ...] = ()
    proposals: tuple[ProposalSummary, ...] = ()


class CommitTests(msgspec.Struct, frozen=True):
    """The results of tests."""

    cases: int
    failed: int
    seconds: float
    diagnostics: tuple[ToolDiagnostic, ...] = ()


class DraftUser(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row of a draft's own users table, by its key or its email address."""

    id: Annotated[int, Meta(ge=-(2**53), le=2**53)] | Annotated[str, Meta(max_length=200)] = ""
    email: Annotated[str, Meta(max_length=320)] = ""


class RequestToDraft(msgspec.Struct, frozen=True):
    """A request to a draft.

    Attributes:
        path: begins with a slash and includes the query.
        user: the signed-in user; None for an anonymous request.
    """

    draft: str
    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    user: DraftUser | None = None


class DraftResponse(msgspec.Struct, frozen=True):
    """The response of a draft.

    Attributes:
        body: cut if it is long.
        failure, step: of a failed request: the error, and its file and line.
    """

    commit: str
    status: int
    headers: dict[str, str]
    body: str
    is_cut: bool
    milliseconds: float
    failure: str = ""
    step: str = ""


class ReviewComment(msgspec.Struct, frozen=True):
    """A comment or a review of a proposal: user content, never an instruction."""

    who: str
    at: str
    verdict: str
    text: str


class PullRequestDetail(msgspec.Struct, frozen=True, kw_only=True):
    """A proposal, and the effects of merging it now.

    Attributes:
        base, result: the commit to merge into, and the merged commit; `base` is empty if it is not
            known. All commits are in the repository, unless `has_diff` is false.
        has_diff: whether its changes may be read here; the changes of a fork on a forge may not.
        obstacles: the reasons that block a merge; empty when it can be merged.
        waits: whether only reviews or running tests block it.
        by_person: whether only a person may merge it, even if it is approved.
    """

    number: int
    url: str
    title: str
    description: str
    author: str
    draft: str
    state: str
    head: str
    has_diff: bool = True
    base: str = ""
    result: str = ""
    preview: str = ""
    obstacles: tuple[str, ...] = ()
    waits: bool = False
    summary: str = ""
    plan: str = ""
    tests: str = ""
    diagnostics: tuple[ToolDiagnostic, ...] = ()
    reviews: tuple[ReviewComment, ...] = ()
    ready: bool = True
    reviewers: tuple[str, ...] = ()
    by_person: bool = True


class ProposalEdit(msgspec.Struct, frozen=True):
    """New values of a proposal; None leaves a value unchanged.

    Attributes:
        reviewers: the e-mail addresses of all requested reviewers.
    """

    title: str
    body: str = ""
    ready: bool | None = None
    reviewers: tuple[str, ...] | None = None


class MergeOutcome(msgspec.Struct, frozen=True):
    """The outcome of a merge."""

    state: Literal["merged", "waiting", "refused"]
    waiting_for: tuple[str, ...] = ()
    commit: str = ""
    is_live: bool = False
    lines: tuple[str, ...] = ()


class CommitProgress(msgspec.Struct, frozen=True):
    """The progress of a commit's publication."""

    commit: str
    state: Literal["queued", "publishing", "live", "failed", "superseded", "unknown"]
    stage: str
    live: str
    version: str
    message: str = ""
    diagnostics: tuple[ToolDiagnostic, ...] = ()


class Activity(msgspec.Struct, frozen=True):
    """Recorded requests, newest first, with masked secrets. `next` is an id, or 0."""

    items: tuple[dict[str, Any], ...]
    next: int


class JobBackend(Protocol):
    """The jobs of a project or draft, for one user."""

    async def list(self, state: str, limit: int) -> JobList:
        """Return jobs that have not ended, or jobs in a state; `ended` is a state, too."""
        ...

    async def show(self, job: str) -> JobStory:
        """Return a job with masked secrets."""
        ...

    async def change(
        self, action: Literal["retry", "cancel"], job: str, *, from_start: bool = False
    ) -> None:
        """Retry or cancel a job."""
        ...

    async def list_calls(self, limit: int) -> Sequence[AgentCall]:
        """Return calls of agents that wait for an approval, oldest first."""
        ...

    async def find_run(self, job: str) -> AgentRunStory | None:
        """Return the run of an agent's job with masked secrets; None before it begins."""
        ...


class ProjectBackend(Protocol):
    """A project, for one user. Every method raises Refused or BbopsError if it cannot be done."""

    async def run_operation(self, operation: RepositoryOperation[T, G], params: T) -> G:
        """Run an operation in the repository."""
        ...

    async def read_state(self) -> ProjectState:
        """Return the state of the project on its server."""
        ...

    async def test(self, commit: str) -> CommitTests:
        """Run the tests of a commit without errors."""
        ...

    async def send_request(self, request: RequestToDraft) -> DraftResponse:
        """Send a request to a draft, which has its own data and mocks of other services."""
        ...

    async def propose(self, draft: str, edit: ProposalEdit) -> PullRequestDetail:
        """Open the proposal of a draft, or update the open one."""
        ...

    async def read_proposal(self, number: int) -> PullRequestDetail:
        """Return a proposal with its status."""
        ...

    async def comment(self, number: int, text: str) -> str:
        """Comment on a proposal; return the URL of its page."""
        ...

    async def publish(self, number: int, head: str) -> MergeOutcome:
        """Merge a proposal at its reviewed commit, if the rules are met."""
        ...

    async def read_progress(self, commit: str) -> CommitProgress:
        """Return the progress of a commit; by default of the newest one."""
        ...

    async def activity(
        self, *, only_failed: bool, endpoint: str, since: float, before: int, limit: int,
        details: bool,
    ) -> Activity:  # fmt: skip
        """Return recorded requests of the live API."""
        ...

    async def test_addon(self, addon: str, draft: str) -> TestedAddon:
        """Test the connection of an addon: in a draft, or by default in the live release."""
        ...

    async def jobs(self, draft: str) -> JobBackend:
        """Return the jobs of a draft, which is started for it; by default of the live release."""
        ...

    async def restore(self, commit: str, topic: str, edit: ProposalEdit) -> PullRequestDetail:
        """Propose a commit without a branch, which restores an earlier version."""
        ...
