"""Read whole resources, with the digests that protect a change of them."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from bbops.interfaces.mcp.models import Draft, Ref
from bbops.interfaces.mcp.operation import RepositoryOperation
from bbops.interfaces.mcp.project_backend import ProjectBackend
from bbops.interfaces.mcp.tool import McpTool, NextCall, ToolParams, ToolResult


class ContextReadParams(ToolParams, frozen=True):
    """The resources to read."""

    refs: Annotated[list[Ref], Meta(min_length=1, max_length=20)]
    draft: Draft = ""


class ResourceBody(msgspec.Struct, frozen=True):
    """A resource; `problem` is the reason if there is no body."""

    ref: str
    digest: str
    file: str
    body: dict[str, Any] | None = None
    problem: str = ""


class ContextReadResult(ToolResult, frozen=True, kw_only=True):
    """The resources; `left` did not fit, `missing` do not exist, each with a hint."""

    commit: str
    resources: list[ResourceBody]
    left: list[str] = []
    missing: dict[str, str] = {}


READ = RepositoryOperation("context_read", ContextReadParams, ContextReadResult)


async def run(backend: ProjectBackend, params: ContextReadParams) -> ContextReadResult:
    """Read the resources, and suggest the next calls."""
    result = await backend.run_operation(READ, params)
    draft = {"draft": params.draft} if params.draft else {}
    calls = []
    if result.left:
        calls.append(NextCall("context_read", {"refs": result.left, **draft}, "read the rest"))
    if result.missing:
        calls.append(NextCall("context_list", draft, "list the resources"))
    return replace(result, next=calls)


TOOL = McpTool(
    "context_read", "Read resources",
    "Reads whole resources, with the digest to pass as base when changing them.",
    ContextReadParams, ContextReadResult, run,
)  # fmt: skip
