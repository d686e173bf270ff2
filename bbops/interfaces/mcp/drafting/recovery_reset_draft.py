"""Reset a draft to the live branch or to an earlier head; its current head can be restored."""

from __future__ import annotations

from bbops.interfaces.mcp.drafting.project_repository import ProjectRepository
from bbops.interfaces.mcp.project.recovery_reset_draft import (
    RecoveryResetDraftParams,
    RecoveryResetDraftResult,
)
from bbops.interfaces.mcp.refs import parse_ref
from bbops.interfaces.mcp.tool import ToolError
from bbops.source.git.restoring import restore_tree
from bbops.source.git.series import Version
from bbops.source.git.writing import NOTHING, delete_branch, keep_ref, make_commit, move_branch

PREVIOUS_HEADS = "refs/bbops/drafts"
"""The refs of heads before a reset; git clients do not fetch them."""


def do(repository: ProjectRepository, params: RecoveryResetDraftParams) -> RecoveryResetDraftResult:
    """Move or delete the draft, and keep its head.

    Raises:
        Refused: there is no such draft, or `to` was never its head.
    """
    draft, place = repository.require_own(params.draft), repository.store.place
    head = repository.resolve(draft)
    if params.to:
        target = _require_previous(repository, draft, params.to)
    elif head is None:
        if params.delete:
            return RecoveryResetDraftResult(draft=draft, head="", previous_head="")
        repository.find(draft)
        target = ""
    elif params.delete:
        target = ""
    else:
        target = _restore(repository, head, params) if params.refs else repository.head
    if head == target:
        return RecoveryResetDraftResult(draft=draft, head=head, previous_head=head)
    if head is not None:
        keep_ref(place, f"{PREVIOUS_HEADS}/{draft}/-/{head}", head)
    if target:
        move_branch(place, draft, head or NOTHING, target, "reset a draft")
    elif head is not None:
        delete_branch(place, draft, head)
    return RecoveryResetDraftResult(draft=draft, head=target, previous_head=head or "")


def _restore(repository: ProjectRepository, head: str, params: RecoveryResetDraftParams) -> str:
    files = [parse_ref(ref).file for ref in params.refs]
    live = Version(repository.live, 0, repository.head, "", "", {})
    tree = restore_tree(repository.store.place, head, live, under=repository.folder, only=files)
    message = f"Reset {', '.join(params.refs)} to '{repository.live}'"
    return make_commit(repository.store.place, tree, [head], message, repository.who)


def _require_previous(repository: ProjectRepository, draft: str, commit: str) -> str:
    ref = f"{PREVIOUS_HEADS}/{draft}/-/{commit}"
    if repository.store.find_commit(ref) != commit:
        raise ToolError(
            f"draft '{draft}' never pointed to {commit[:12]}", hint="pass a previousHead"
        )
    return commit
