"""Describe the state of a project, and the permissions of the caller."""

from __future__ import annotations

import msgspec

from bbops.interfaces.mcp.models import ProposalSummary
from bbops.interfaces.mcp.operation import RepositoryOperation
from bbops.interfaces.mcp.project_backend import ProjectBackend
from bbops.interfaces.mcp.tool import McpTool, NextCall, ToolParams, ToolResult


class ContextGetParams(ToolParams, frozen=True):
    """The tool has no parameters."""


class DraftBranch(msgspec.Struct, frozen=True):
    """A draft; `ahead` is the number of its commits that are not on the live branch."""

    name: str
    head: str
    ahead: int


class MergeRules(msgspec.Struct, frozen=True, rename="camel"):
    """The rules of a merge: the `review` of project.yaml."""

    main: str
    approvals: int
    approvals_where_something_is_lost: int
    most_removed_percent: int | None


class RepositoryOverview(ToolResult, frozen=True, kw_only=True):
    """The project in the repository."""

    project: str = ""
    description: str = ""
    live_branch: str
    head: str
    counts: dict[str, int] = {}
    errors: int = 0
    drafts: list[DraftBranch] = []
    rules: MergeRules | None = None


class ContextGetResult(RepositoryOverview, frozen=True, kw_only=True):
    """The project in the repository and on the server."""

    url: str = ""
    published: str = ""
    version: str = ""
    message: str = ""
    may: list[str] = []
    pulls: list[ProposalSummary] = []


OVERVIEW = RepositoryOperation("context_get", ContextGetParams, RepositoryOverview)


async def run(backend: ProjectBackend, params: ContextGetParams) -> ContextGetResult:
    """Combine the overview of the repository with the state on the server."""
    overview, state = await backend.run_operation(OVERVIEW, params), await backend.read_state()
    names = (name for name in overview.__struct_fields__ if name != "next")
    fields = {name: getattr(overview, name) for name in names}
    return ContextGetResult(
        **fields | {"project": state.name or overview.project},
        url=state.url, published=state.published, version=state.version,
        message=state.message, may=list(state.may), pulls=list(state.proposals),
        next=[
            NextCall("context_list", {}, "see the resources"),
            NextCall("context_schema", {}, "see the schema of a resource"),
        ],
    )  # fmt: skip


TOOL = McpTool(
    "context_get", "Project overview",
    "Call first. Live release, drafts, open pull requests, counts, merge rules and what you are"
    " allowed to do.",
    ContextGetParams, ContextGetResult, run,
)  # fmt: skip
