"""Open the pull request of a draft, or update the open one."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from bbops.interfaces.mcp.models import OwnDraft, ToolDiagnostic
from bbops.interfaces.mcp.project_backend import ProjectBackend, ProposalEdit
from bbops.interfaces.mcp.tool import McpTool, NextCall, ToolHints, ToolParams, ToolResult


class ApplyPullRequestParams(ToolParams, frozen=True):
    """The draft, and the text of its pull request."""

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
        Annotated[bool, Meta(description="false: it cannot be merged until it is true")] | UnsetType
    ) = UNSET


class ApplyPullRequestResult(ToolResult, frozen=True, kw_only=True):
    """The pull request, and the obstacles to its merge."""

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
    diagnostics: list[ToolDiagnostic] = []


async def run(backend: ProjectBackend, params: ApplyPullRequestParams) -> ApplyPullRequestResult:
    """Open or update the pull request, and suggest the next call."""
    edit = ProposalEdit(
        params.title, params.body, None if params.ready is UNSET else params.ready,
        None if isinstance(params.reviewers, UnsetType) else tuple(params.reviewers),
    )  # fmt: skip
    proposal = await backend.propose(params.draft, edit)
    return ApplyPullRequestResult(
        number=proposal.number, url=proposal.url, state=proposal.state, head=proposal.head,
        preview=proposal.preview, summary=proposal.summary, tests=proposal.tests,
        obstacles=list(proposal.obstacles),
        diagnostics=list(proposal.diagnostics), ready=proposal.ready,
        reviewers=list(proposal.reviewers),
        next=[NextCall("review_pull_request", {"number": proposal.number}, "see its status")],
    )  # fmt: skip


TOOL = McpTool(
    "apply_pull_request", "Open or update a pull request",
    "Opens the pull request of a draft, or updates the open one.",
    ApplyPullRequestParams, ApplyPullRequestResult, run,
    scope="builder", hints=ToolHints(reaches_out=True),
)  # fmt: skip
