"""Prepare a rollback to a version, as a pull request."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import Meta

from bbops.interfaces.mcp.models import ShortRef
from bbops.interfaces.mcp.operation import RepositoryOperation
from bbops.interfaces.mcp.project.preview_changes import TableMigration, find_effects, migrations
from bbops.interfaces.mcp.project.recovery_history import SNAPSHOT, snapshots
from bbops.interfaces.mcp.project_backend import ProjectBackend, ProposalEdit
from bbops.interfaces.mcp.refs import parse_ref
from bbops.interfaces.mcp.tool import (
    McpTool,
    NextCall,
    ToolError,
    ToolHints,
    ToolParams,
    ToolResult,
)

if TYPE_CHECKING:
    from bbops.interfaces.mcp.drafting.project_repository import ProjectRepository
    from bbops.review.plan.plan import Plan
    from bbops.source.git.series import Version

_COMMIT: Final = re.compile(r"[0-9a-f]{7,64}")
_VERSION: Final = re.compile(r"(?:.*/)?v?[0-9]{1,9}")


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


def do(repository: ProjectRepository, params: RecoveryRollbackParams) -> RollbackCommit:
    """Return a commit on top of the live branch, without a branch.

    Raises:
        Refused: there is no such version, snapshot or live commit.
        GitError: nothing would change.
    """
    from bbops.interfaces.mcp.drafting.serialization import clean_message  # noqa: PLC0415
    from bbops.review.plan.render import phrases  # noqa: PLC0415
    from bbops.source.git.restoring import describe_restoring, restore_tree  # noqa: PLC0415

    repository.require_here()
    version, only = _find(repository, params.to), [parse_ref(ref).file for ref in params.refs]
    head = repository.head
    tree = restore_tree(repository.store.place, head, version, under=repository.folder, only=only)
    message = f"{describe_restoring(version, only)}\n\n{clean_message(params.reason)}"
    commit = repository.commit(tree, head, message)
    project, _ = repository.check(repository.tree(commit))
    effects = find_effects(repository, commit, project) if project else None
    return RollbackCommit(
        commit, version.short,
        phrases.summary(effects) if effects else "the earlier version has errors now",
        tuple(migrations(effects.tables)) if effects else (), tuple(_unrecoverable(effects)),
    )  # fmt: skip


def _find(repository: ProjectRepository, text: str) -> Version:
    """Return the version, the snapshot or the live commit with a name.

    Raises:
        Refused: there is none; GitError if the name looks like a version.
    """
    from bbops.source.git.series import Version, find_version  # noqa: PLC0415

    name = text.removeprefix(repository.path("")).removeprefix(SNAPSHOT)
    if _VERSION.fullmatch(text) and SNAPSHOT not in text:
        return find_version(repository.versions, text)
    tag = repository.path(f"{SNAPSHOT}{name}")
    snapshot = next((item for item in snapshots(repository) if item.tag == tag), None)
    if snapshot is not None and repository.store.is_ancestor(snapshot.commit, repository.head):
        return Version(snapshot.tag, 0, snapshot.commit, snapshot.at, snapshot.summary, {})
    commit = repository.store.find_commit(text) if _COMMIT.fullmatch(text) else None
    if commit is None or not _was_live(repository, commit):
        raise ToolError(
            f"'{text[:100]}' is not a version, snapshot or live commit of this project",
            next=(NextCall("recovery_history", {}, "see the versions you can roll back to"),),
        )
    return Version(commit[:12], 0, commit, "", repository.store.subject(commit), {})


def _was_live(repository: ProjectRepository, commit: str) -> bool:
    """Return whether a commit was live; without known versions, whether the live branch has it."""
    commits = {version.commit for version in repository.versions}
    if commits:
        return commit in {*commits, repository.published}
    return repository.store.is_ancestor(commit, repository.head)


def _unrecoverable(effects: Plan | None) -> list[str]:
    """Return the tables and columns whose values are hidden, and can be deleted later."""
    changes = effects.tables if effects else ()
    risky = (change for change in changes if change.risk in {"destructive", "depends"})
    return [f"{change.kind} '{change.name}'" for change in risky]


RESTORE = RepositoryOperation(
    "recovery_rollback",
    RecoveryRollbackParams,
    RollbackCommit,
    do,
    writes=True,
    leaves_objects=True,
)

TOOL = McpTool(
    "recovery_rollback", "Prepare a rollback",
    "Opens a pull request that returns the project, or the given resources, to an earlier version."
    " Says which data would be affected.",
    RecoveryRollbackParams, RecoveryRollbackResult, run,
    scope="builder", hints=ToolHints(reaches_out=True),
)  # fmt: skip
