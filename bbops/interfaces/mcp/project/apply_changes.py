"""Commit a previewed plan to a draft."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from bbops.interfaces.mcp.models import OwnDraft
from bbops.interfaces.mcp.operation import RepositoryOperation
from bbops.interfaces.mcp.project_backend import ProjectBackend
from bbops.interfaces.mcp.tool import WRITES, McpTool, NextCall, ToolParams, ToolResult


class ApplyChangesParams(ToolParams, frozen=True):
    """The plan, and the draft to commit to."""

    draft: Annotated[OwnDraft, Meta(description="Branch; created if new, never the live one")]
    plan: Annotated[str, Meta(min_length=1, max_length=300, description="of preview_changes")]
    message: Annotated[str, Meta(min_length=1, max_length=500)]


class ApplyChangesResult(ToolResult, frozen=True, kw_only=True):
    """The commit; `was_there` if the plan was already applied."""

    draft: str
    commit: str
    files: list[str]
    was_there: bool = False


APPLY = RepositoryOperation(
    "apply_changes", ApplyChangesParams, ApplyChangesResult, writes=True, activity="commit to draft"
)


async def run(backend: ProjectBackend, params: ApplyChangesParams) -> ApplyChangesResult:
    """Commit the plan, and suggest the next calls."""
    done = await backend.run_operation(APPLY, params)
    return replace(done, next=[
        NextCall("validate_draft", {"draft": done.draft, "level": "test"}, "run its tests"),
        NextCall("apply_pull_request",
             {"draft": done.draft, "title": params.message[:200], "body": ""}, "ask for review"),
    ])  # fmt: skip


TOOL = McpTool(
    "apply_changes", "Commit to a draft",
    "Commits a previewed plan to a draft branch. The same plan twice gives the same commit. Live"
    " traffic stays as it is.",
    ApplyChangesParams, ApplyChangesResult, run, scope="builder", hints=WRITES,
)  # fmt: skip
