"""Reset a draft to the live branch, or delete it; its old head can be restored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta
from msgspec.structs import replace

from bbops.interfaces.mcp.models import OwnDraft, ShortRef
from bbops.interfaces.mcp.operation import RepositoryOperation
from bbops.interfaces.mcp.project_backend import ProjectBackend
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

PREVIOUS_HEADS = "refs/bbops/drafts"
"""The refs of heads before a reset; git clients do not fetch them."""


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


async def run(
    backend: ProjectBackend, params: RecoveryResetDraftParams
) -> RecoveryResetDraftResult:
    """Reset the draft, and suggest a call that undoes it."""
    result = await backend.run_operation(RESET, params)
    if not result.previous_head or result.previous_head == result.head:
        return result
    undo = {"draft": result.draft, "to": result.previous_head}
    return replace(result, next=[NextCall("recovery_reset_draft", undo, "undo this")])


def do(repository: ProjectRepository, params: RecoveryResetDraftParams) -> RecoveryResetDraftResult:
    """Move or delete the draft, and keep its head.

    Raises:
        Refused: there is no such draft, or `to` was never its head.
    """
    from bbops.source.git.writing import NOTHING, delete_branch, keep_ref, move_branch  # noqa: PLC0415

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
    from bbops.source.git.restoring import restore_tree  # noqa: PLC0415
    from bbops.source.git.series import Version  # noqa: PLC0415
    from bbops.source.git.writing import make_commit  # noqa: PLC0415

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


RESET = RepositoryOperation(
    "recovery_reset_draft",
    RecoveryResetDraftParams,
    RecoveryResetDraftResult,
    do,
    writes=True,
    activity="reset draft",
)

TOOL = McpTool(
    "recovery_reset_draft", "Reset a draft",
    "Returns a draft, or resources in it, to the live branch; or deletes it. Returns the"
    " old head, which can be restored.",
    RecoveryResetDraftParams, RecoveryResetDraftResult, run,
    scope="builder", hints=ToolHints(destroys=True),
)  # fmt: skip
