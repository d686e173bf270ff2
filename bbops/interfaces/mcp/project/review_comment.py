"""Comment on a pull request."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from bbops.interfaces.mcp.models import Number
from bbops.interfaces.mcp.project_backend import ProjectBackend
from bbops.interfaces.mcp.tool import McpTool, ToolHints, ToolParams, ToolResult


class ReviewCommentParams(ToolParams, frozen=True):
    """The comment, and optionally its file and line."""

    number: Number
    body: Annotated[str, Meta(min_length=1, max_length=8_000)]
    file: Annotated[str, Meta(max_length=300)] = ""
    line: Annotated[int, Meta(ge=0, le=10_000_000)] = 0


class ReviewCommentResult(ToolResult, frozen=True, kw_only=True):
    """The URL of the comment."""

    number: int
    url: str


async def run(backend: ProjectBackend, params: ReviewCommentParams) -> ReviewCommentResult:
    """Add the comment, prefixed with its place."""
    prefix = f"{params.file}:{params.line}" if params.line else params.file
    text = f"{prefix}: {params.body}" if prefix else params.body
    return ReviewCommentResult(number=params.number, url=await backend.comment(params.number, text))


TOOL = McpTool(
    "review_comment", "Comment on a pull request",
    "Adds a comment, optionally on a line of a file. Does not approve.",
    ReviewCommentParams, ReviewCommentResult, run,
    scope="builder", hints=ToolHints(is_idempotent=False, reaches_out=True),
)  # fmt: skip
