"""List the resources of a project, a page at a time."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import replace

from bbops.interfaces.mcp.models import Cursor, Draft, Kind, Limit, ResourceSummary
from bbops.interfaces.mcp.operation import RepositoryOperation
from bbops.interfaces.mcp.project_backend import ProjectBackend
from bbops.interfaces.mcp.tool import McpTool, NextCall, ToolParams, ToolResult


class ContextListParams(ToolParams, frozen=True):
    """Filters for the list, and the page."""

    kind: Kind | UnsetType = UNSET
    query: Annotated[str, Meta(max_length=200, description="Words in name or summary")] = ""
    draft: Draft = ""
    cursor: Cursor = ""
    limit: Limit = 50


class ContextListResult(ToolResult, frozen=True, kw_only=True):
    """A page of resources; `total` counts all pages."""

    commit: str
    total: int
    resources: list[ResourceSummary]
    next_cursor: str = ""


LIST = RepositoryOperation("context_list", ContextListParams, ContextListResult)


async def run(backend: ProjectBackend, params: ContextListParams) -> ContextListResult:
    """List the resources, and suggest a call that reads them."""
    result = await backend.run_operation(LIST, params)
    refs = [resource.ref for resource in result.resources[:20]]
    draft = {"draft": params.draft} if params.draft else {}
    calls = [NextCall("context_read", {"refs": refs, **draft}, "read them")] if refs else []
    return replace(result, next=calls)


TOOL = McpTool(
    "context_list", "List resources",
    "Lists resources with digest and one-line summary; context_read has the bodies.",
    ContextListParams, ContextListResult, run,
)  # fmt: skip
