"""Prepare a rollback to a version, as a pull request."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from bbops.interfaces.mcp.models import ShortRef
from bbops.interfaces.mcp.operation import RepositoryOperation
from bbops.interfaces.mcp.project.preview_changes import TableMigration
from bbops.interfaces.mcp.project_backend import ProjectBackend, ProposalEdit
from bbops.interfaces.mcp.tool import McpTool, NextCall, ToolHints, ToolParams, ToolResult


class RecoveryRollbackParams(ToolParams, frozen=True):
    """The version, and the resources to roll back; without `refs` the whole project."""

    to: Annotated[
        str, Meta(min_length=1, max_length=100, description="v7, snapshot/NAME or a commit")
    ]
    reason: Annotated[str, Meta(min_length=1, max_length=500)]
    refs: Annotated[list[ShortRef], Meta(max_length=50)] = []


class RollbackCommit(msgspec.Struct, frozen=True):
    """A commit on top of the live branch, without a branch."""

    commit: str
    version: str
    summary: str
    migration: tuple[TableMigration, ...] = ()
    unrecoverable: tuple[str, ...] = ()


class RecoveryRollbackResult(ToolResult, frozen=True, kw_only=True):
    """The pull request.

    `unrecoverable` lists tables and columns whose values are hidden; 'bbops db narrow' deletes them
    for good.
    """

    number: int
    url: str
    head: str
    summary: str
    obstacles: list[str]
    migration: list[TableMigration]
    unrecoverable: list[str]


RESTORE = RepositoryOperation(
    "recovery_rollback", RecoveryRollbackParams, RollbackCommit, writes=True, leaves_objects=True
)


async def run(backend: ProjectBackend, params: RecoveryRollbackParams) -> RecoveryRollbackResult:
    """Make the commit and propose it."""
    commit = await backend.run_operation(RESTORE, params)
    subject = f"{', '.join(params.refs)} " if params.refs else ""
    topic = " ".join(("rollback", commit.version, *params.refs))[:200]
    title = f"Roll {subject}back to {commit.version}"[:200]
    proposal = await backend.restore(commit.commit, topic, ProposalEdit(title, params.reason))
    return RecoveryRollbackResult(
        number=proposal.number, url=proposal.url, head=proposal.head, summary=commit.summary,
        obstacles=list(proposal.obstacles), migration=list(commit.migration),
        unrecoverable=list(commit.unrecoverable),
        next=[NextCall("review_pull_request", {"number": proposal.number}, "see its status")],
    )  # fmt: skip


TOOL = McpTool(
    "recovery_rollback", "Prepare a rollback",
    "Opens a pull request that returns the project, or the given resources, to an earlier version."
    " Says which data would be affected.",
    RecoveryRollbackParams, RecoveryRollbackResult, run,
    scope="builder", hints=ToolHints(reaches_out=True),
)  # fmt: skip
