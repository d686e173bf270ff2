"""Save a snapshot of the live commit."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from bbops.interfaces.mcp.operation import RepositoryOperation
from bbops.interfaces.mcp.project_backend import ProjectBackend
from bbops.interfaces.mcp.tool import WRITES, McpTool, NextCall, ToolParams, ToolResult


class RecoverySnapshotParams(ToolParams, frozen=True):
    """The snapshot's name and message."""

    name: Annotated[str, Meta(pattern="^[a-z0-9][a-z0-9-]*$", max_length=60)]
    message: Annotated[str, Meta(max_length=500)] = ""


class RecoverySnapshotResult(ToolResult, frozen=True, kw_only=True):
    """The tag and its commit."""

    tag: str
    commit: str


SNAPSHOT = RepositoryOperation(
    "recovery_snapshot",
    RecoverySnapshotParams,
    RecoverySnapshotResult,
    writes=True,
    activity="save snapshot",
)


async def run(backend: ProjectBackend, params: RecoverySnapshotParams) -> RecoverySnapshotResult:
    """Save the snapshot, and suggest a rollback to it."""
    result = await backend.run_operation(SNAPSHOT, params)
    arguments = {"to": result.tag, "reason": "Describe the reason"}
    return replace(result, next=[NextCall("recovery_rollback", arguments, "roll back to it later")])


TOOL = McpTool(
    "recovery_snapshot", "Save a snapshot",
    "Tags the live commit, so that you can roll back to it by name. Does not copy rows.",
    RecoverySnapshotParams, RecoverySnapshotResult, run, scope="builder", hints=WRITES,
)  # fmt: skip
