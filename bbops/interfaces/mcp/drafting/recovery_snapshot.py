"""Save a snapshot of the live commit: a tag with its own prefix."""

from __future__ import annotations

from bbops.interfaces.mcp.drafting.project_repository import ProjectRepository
from bbops.interfaces.mcp.drafting.recovery_history import SNAPSHOT, snapshots
from bbops.interfaces.mcp.drafting.serialization import clean_message
from bbops.interfaces.mcp.project.recovery_snapshot import (
    RecoverySnapshotParams,
    RecoverySnapshotResult,
)
from bbops.interfaces.mcp.tool import NextCall, ToolError
from bbops.source.git.writing import add_tag


def do(repository: ProjectRepository, params: RecoverySnapshotParams) -> RecoverySnapshotResult:
    """Create the tag, unless it exists with the same commit.

    Raises:
        Refused: the name is used for another commit.
    """
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
