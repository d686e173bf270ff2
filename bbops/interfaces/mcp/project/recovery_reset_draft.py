"""Reset a draft to the live branch, or delete it; its old head can be restored."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from bbops.interfaces.mcp.models import OwnDraft, ShortRef
from bbops.interfaces.mcp.operation import RepositoryOperation
from bbops.interfaces.mcp.project_backend import ProjectBackend
from bbops.interfaces.mcp.tool import McpTool, NextCall, ToolHints, ToolParams, ToolResult


class RecoveryResetDraftParams(ToolParams, frozen=True):
    """The draft, and its resources to reset."""

    draft: OwnDraft
    refs: Annotated[list[ShortRef], Meta(max_length=50)] = []
    delete: bool = False
    to: Annotated[
        str,
        Meta(pattern="^([0-9a-f]{40,64})?$", description="a previousHead, to restore that state"),
    ] = ""


class RecoveryResetDraftResult(ToolResult, frozen=True, kw_only=True):
    """The draft's new head, empty if it was deleted, and its previous one."""

    draft: str
    head: str
    previous_head: str


RESET = RepositoryOperation(
    "recovery_reset_draft",
    RecoveryResetDraftParams,
    RecoveryResetDraftResult,
    writes=True,
    activity="reset draft",
)


async def run(
    backend: ProjectBackend, params: RecoveryResetDraftParams
) -> RecoveryResetDraftResult:
    """Reset the draft, and suggest a call that undoes it."""
    result = await backend.run_operation(RESET, params)
    if not result.previous_head or result.previous_head == result.head:
        return result
    undo = {"draft": result.draft, "to": result.previous_head}
    return replace(result, next=[NextCall("recovery_reset_draft", undo, "undo this")])


TOOL = McpTool(
    "recovery_reset_draft", "Reset a draft",
    "Returns a draft, or resources in it, to the live branch; or deletes it. Returns the"
    " old head, which can be restored.",
    RecoveryResetDraftParams, RecoveryResetDraftResult, run,
    scope="builder", hints=ToolHints(destroys=True),
)  # fmt: skip
