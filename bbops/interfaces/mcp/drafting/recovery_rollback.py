"""Make the commit that restores an earlier version, and list data that it does not restore."""

from __future__ import annotations

import re
from typing import Final

from bbops.interfaces.mcp.drafting.preview_changes import find_effects, migrations
from bbops.interfaces.mcp.drafting.project_repository import ProjectRepository
from bbops.interfaces.mcp.drafting.recovery_history import SNAPSHOT, snapshots
from bbops.interfaces.mcp.drafting.serialization import clean_message
from bbops.interfaces.mcp.project.recovery_rollback import RecoveryRollbackParams, RollbackCommit
from bbops.interfaces.mcp.refs import parse_ref
from bbops.interfaces.mcp.tool import NextCall, ToolError
from bbops.review.plan.plan import Plan
from bbops.review.plan.render import phrases
from bbops.source.git.restoring import describe_restoring, restore_tree
from bbops.source.git.series import Version, find_version

_COMMIT: Final = re.compile(r"[0-9a-f]{7,64}")
_VERSION: Final = re.compile(r"(?:.*/)?v?[0-9]{1,9}")


def do(repository: ProjectRepository, params: RecoveryRollbackParams) -> RollbackCommit:
    """Return a commit on top of the live branch, without a branch.

    Raises:
        Refused: there is no such version, snapshot or live commit.
        GitError: nothing would change.
    """
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
