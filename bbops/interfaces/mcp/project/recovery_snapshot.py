"""Save a snapshot of the live commit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta
from msgspec.structs import replace

from bbops.interfaces.mcp.operation import RepositoryOperation
from bbops.interfaces.mcp.project.recovery_history import SNAPSHOT, snapshots
from bbops.interfaces.mcp.project_backend import ProjectBackend
from bbops.interfaces.mcp.tool import WRITES, McpTool, NextCall, ToolError, ToolParams, ToolResult

if TYPE_CHECKING:
    from bbops.interfaces.mcp.drafting.project_repository import ProjectRepository


class RecoverySnapshotParams(ToolParams, frozen=True):
    """The snapshot's name and message."""

    name: Annotated[str, Meta(pattern="^[a-z0-9][a-z0-9-]*$", max_length=60)]
    message: Annotated[str, Meta(max_length=500)] = ""


class RecoverySnapshotResult(ToolResult, frozen=True, kw_only=True):
    """The tag and its commit."""

    tag: str
    commit: str


async def run(backend: ProjectBackend, params: RecoverySnapshotParams) -> RecoverySnapshotResult:
    """Save the snapshot, and suggest a rollback to it."""
    result = await backend.run_operation(TAG, params)
    arguments = {"to": result.tag, "reason": "Describe the reason"}
    return replace(result, next=[NextCall("recovery_rollback", arguments, "roll back to it later")])


def do(repository: ProjectRepository, params: RecoverySnapshotParams) -> RecoverySnapshotResult:
    """Create the tag, unless it exists with the same commit.

    Raises:
        Refused: the name is used for another commit.
    """
    from bbops.interfaces.mcp.drafting.serialization import clean_message  # noqa: PLC0415
    from bbops.source.git.writing import add_tag  # noqa: PLC0415

    repository.require_here()
    commit = repository.published or repository.head
    tag = repository.path(f"{SNAPSHOT}{params.name}")
    message = " ".join(clean_message(params.message).split()) or f"Snapshot {params.name}"
    facts = f"\n\nAuthor: {repository.who.email}"
    if not add_tag(repository.store.place, tag, commit, message + facts):
        known = next((item.commit for item in snapshots(repository) if item.tag == tag), "")
        if known != commit:
            call = NextCall("recovery_history", {}, "see the used names")
            raise ToolError(
                f"snapshot '{params.name}' already exists for another commit", next=(call,)
            )
    return RecoverySnapshotResult(tag=tag, commit=commit)


TAG = RepositoryOperation(
    "recovery_snapshot",
    RecoverySnapshotParams,
    RecoverySnapshotResult,
    do,
    writes=True,
    activity="save snapshot",
)

TOOL = McpTool(
    "recovery_snapshot", "Save a snapshot",
    "Tags the live commit, so that you can roll back to it by name. Does not copy rows.",
    RecoverySnapshotParams, RecoverySnapshotResult, run, scope="builder", hints=WRITES,
)  # fmt: skip
