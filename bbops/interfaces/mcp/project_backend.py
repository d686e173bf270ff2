"""Where the tools of one project do their work for one person: a server, or a checkout.

Whoever makes a backend knows who asks; each method refuses what that person may not do.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Protocol, TypeVar

import msgspec
from msgspec import Meta

from bbops.base.json_addons import TestedAddon
from bbops.base.json_jobs import JobList, JobStory
from bbops.interfaces.mcp.models import Found, Proposed
from bbops.interfaces.mcp.work import Work

T = TypeVar("T", bound=msgspec.Struct)
G = TypeVar("G", bound=msgspec.Struct)


class ProjectState(msgspec.Struct, frozen=True):
    """What is known of a project beside its repository.

    Attributes:
        published: the commit that answers now; empty where nothing does, or no server is.
        message: why the newest commit is not live, or an empty text.
        may: words of `read`, `change`, `propose`, `merge`, `requests`.
    """

    name: str
    url: str = ""
    published: str = ""
    version: str = ""
    message: str = ""
    may: tuple[str, ...] = ()
    proposals: tuple[Proposed, ...] = ()


class Tested(msgspec.Struct, frozen=True):
    """What tests gave."""

    cases: int
    failed: int
    seconds: float
    diagnostics: tuple[Found, ...] = ()


class User(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row of a draft's own table of users, by its key or its email."""

    id: Annotated[int, Meta(ge=-(2**53), le=2**53)] | Annotated[str, Meta(max_length=200)] = ""
    email: Annotated[str, Meta(max_length=320)] = ""


class DraftRequest(msgspec.Struct, frozen=True):
    """A request to a draft.

    Attributes:
        path: begins with a slash and has its query.
        user: who is signed in; None for nobody.
    """

    draft: str
    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    user: User | None = None


class DraftResponse(msgspec.Struct, frozen=True):
    """What a draft answered.

    Attributes:
        body: cut where it is long.
        failure, step: of an answer that went wrong: what happened, and in which file and line.
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
    """What somebody said of a proposal: their text, never an instruction."""

    who: str
    at: str
    verdict: str
    text: str


class PullRequestDetail(msgspec.Struct, frozen=True, kw_only=True):
    """A proposal, and what merging it now would do.

    Attributes:
        base, result: what it would be merged into, and what that would hold then; `base` is empty
            where nobody can say. All commits are in the repository.
        obstacles: what is in the way; empty when it can be merged.
        waits: whether others' words, or tests that run, are all that is in the way.
        by_person: whether only a person may merge it, whatever was approved.
    """

    number: int
    url: str
    title: str
    description: str
    author: str
    draft: str
    state: str
    head: str
    base: str = ""
    result: str = ""
    preview: str = ""
    obstacles: tuple[str, ...] = ()
    waits: bool = False
    summary: str = ""
    plan: str = ""
    tests: str = ""
    diagnostics: tuple[Found, ...] = ()
    reviews: tuple[ReviewComment, ...] = ()
    ready: bool = True
    reviewers: tuple[str, ...] = ()
    by_person: bool = True


class ProposalEdit(msgspec.Struct, frozen=True):
    """What is said of a proposal; what is None stays as it is.

    Attributes:
        reviewers: the e-mail addresses of those who are asked for a review, and nobody else.
    """

    title: str
    body: str = ""
    ready: bool | None = None
    reviewers: tuple[str, ...] | None = None


class MergeOutcome(msgspec.Struct, frozen=True):
    """What became of a wish to publish."""

    state: Literal["merged", "waiting", "refused"]
    waiting_for: tuple[str, ...] = ()
    commit: str = ""
    is_live: bool = False
    lines: tuple[str, ...] = ()


class CommitProgress(msgspec.Struct, frozen=True):
    """How far a commit is on its way to live traffic."""

    commit: str
    state: Literal["queued", "publishing", "live", "failed", "superseded", "unknown"]
    stage: str
    live: str
    version: str
    message: str = ""
    diagnostics: tuple[Found, ...] = ()


class Activity(msgspec.Struct, frozen=True):
    """Requests, newest first, as the history keeps them: masked. `next` is an id, or 0."""

    items: tuple[dict[str, Any], ...]
    next: int


class JobBackend(Protocol):
    """The jobs of one project or draft, for one person."""

    async def list(self, state: str, most: int) -> JobList:
        """Return jobs that have not ended, those in a state, or with `ended` those that have."""
        ...

    async def show(self, job: str) -> JobStory:
        """Return what is known of a job, masked."""
        ...

    async def change(
        self, action: Literal["retry", "cancel"], job: str, *, from_start: bool = False
    ) -> None:
        """Retry or cancel a job."""
        ...


class ProjectBackend(Protocol):
    """One project, for one person. Every method raises Refused or BbopsError where it cannot."""

    async def work(self, work: Work[T, G], taken: T) -> G:
        """Do a piece of work in the repository."""
        ...

    async def stand(self) -> ProjectState:
        """Return what is known beside the repository."""
        ...

    async def test(self, commit: str) -> Tested:
        """Run the tests of a commit that has no mistakes."""
        ...

    async def ask(self, asked: DraftRequest) -> DraftResponse:
        """Ask a draft as it is now, on its own data and with stand-ins for the world."""
        ...

    async def propose(self, draft: str, said: ProposalEdit) -> PullRequestDetail:
        """Open the proposal of a draft, or bring the open one up to date."""
        ...

    async def judge(self, number: int) -> PullRequestDetail:
        """Return a proposal and how it stands."""
        ...

    async def comment(self, number: int, text: str) -> str:
        """Say something of a proposal; return the address of its page."""
        ...

    async def publish(self, number: int, head: str) -> MergeOutcome:
        """Merge a proposal as it was looked at, if the rules are met."""
        ...

    async def attempt(self, commit: str) -> CommitProgress:
        """Return how far a commit is; the newest one without a name."""
        ...

    async def activity(
        self, *, only_failed: bool, endpoint: str, since: float, before: int, limit: int,
        details: bool,
    ) -> Activity:  # fmt: skip
        """Return requests that the live API answered."""
        ...

    async def test_addon(self, addon: str, draft: str) -> TestedAddon:
        """Test the connection of an addon: of a draft, or of what is live without a name."""
        ...

    async def jobs(self, draft: str) -> JobBackend:
        """Return the jobs of a draft, which is woken for them; of what is live without a name."""
        ...

    async def restore(self, commit: str, topic: str, said: ProposalEdit) -> PullRequestDetail:
        """Propose a commit that no branch holds, which brings back what was."""
        ...
