"""Open the pull request of a draft, or bring the open one up to date."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from bbops.interfaces.mcp.models import Found, OwnDraft
from bbops.interfaces.mcp.project_backend import ProjectBackend, ProposalEdit
from bbops.interfaces.mcp.tool import Call, Gives, Hints, Takes, Tool


class Proposing(Takes, frozen=True):
    """What is proposed."""

    draft: OwnDraft
    title: Annotated[str, Meta(min_length=1, max_length=200)]
    body: Annotated[str, Meta(max_length=8_000, description="What and why, in Markdown")] = ""
    reviewers: (
        Annotated[
            list[Annotated[str, Meta(max_length=254)]],
            Meta(max_length=20, description="e-mail addresses of members to ask"),
        ]
        | UnsetType
    ) = UNSET
    ready: (
        Annotated[bool, Meta(description="false: nobody can merge it until it is true")] | UnsetType
    ) = UNSET


class Opened(Gives, frozen=True, kw_only=True):
    """The pull request, and what blocks it of merging it."""

    number: int
    url: str
    state: str
    head: str
    preview: str
    summary: str
    obstacles: list[str]
    ready: bool
    reviewers: list[str] = []
    tests: str = ""
    diagnostics: list[Found] = []


async def run(place: ProjectBackend, taken: Proposing) -> Opened:
    """Propose, and say how to go on."""
    said = ProposalEdit(
        taken.title, taken.body, None if taken.ready is UNSET else taken.ready,
        None if isinstance(taken.reviewers, UnsetType) else tuple(taken.reviewers),
    )  # fmt: skip
    done = await place.propose(taken.draft, said)
    return Opened(
        number=done.number, url=done.url, state=done.state, head=done.head, preview=done.preview,
        summary=done.summary, obstacles=list(done.obstacles), tests=done.tests,
        diagnostics=list(done.diagnostics), ready=done.ready, reviewers=list(done.reviewers),
        next=[Call("review_pull_request", {"number": done.number}, "see its status")],
    )  # fmt: skip


TOOL = Tool(
    "apply_pull_request", "Open or update a pull request",
    "Opens the pull request of a draft, or updates the open one.",
    Proposing, Opened, run, scope="builder", hints=Hints(reaches_out=True),
)  # fmt: skip
