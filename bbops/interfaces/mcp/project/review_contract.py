"""Read the API contract of a project."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta
from msgspec.structs import replace

from bbops.interfaces.mcp.models import Cursor, Draft
from bbops.interfaces.mcp.operation import RepositoryOperation
from bbops.interfaces.mcp.project_backend import ProjectBackend
from bbops.interfaces.mcp.tool import McpTool, NextCall, ToolParams, ToolResult


class ReviewContractParams(ToolParams, frozen=True):
    """The format, the draft and the route, and the page."""

    format: Literal["openapi", "markdown", "json", "typescript", "python"] = "markdown"
    draft: Draft = ""
    path: Annotated[str, Meta(max_length=500, description="only this route: /notes/{id}")] = ""
    cursor: Cursor = ""


class ReviewContractResult(ToolResult, frozen=True, kw_only=True):
    """A part of the contract; all parts of a contract have the same `digest`."""

    commit: str
    digest: str
    content_type: str
    routes: list[str]
    text: str
    next_cursor: str = ""


CONTRACT = RepositoryOperation("review_contract", ReviewContractParams, ReviewContractResult)


async def run(backend: ProjectBackend, params: ReviewContractParams) -> ReviewContractResult:
    """Return the part, and suggest a call for the next one."""
    result = await backend.run_operation(CONTRACT, params)
    if not result.next_cursor:
        return result
    arguments = {"format": params.format, "cursor": result.next_cursor}
    arguments |= {"draft": params.draft} if params.draft else {}
    arguments |= {"path": params.path} if params.path else {}
    return replace(result, next=[NextCall("review_contract", arguments, "read on")])


TOOL = McpTool(
    "review_contract", "API contract",
    "OpenAPI, Markdown, JSON or SDK contract. Large: ask for one path.",
    ReviewContractParams, ReviewContractResult, run,
)  # fmt: skip
