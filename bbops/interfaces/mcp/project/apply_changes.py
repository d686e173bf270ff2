"""Commit a previewed plan to a draft."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta
from msgspec.structs import replace

from bbops.base.errors import GitError
from bbops.interfaces.mcp.models import OwnDraft
from bbops.interfaces.mcp.operation import RepositoryOperation
from bbops.interfaces.mcp.project_backend import ProjectBackend
from bbops.interfaces.mcp.tool import WRITES, McpTool, NextCall, ToolError, ToolParams, ToolResult

if TYPE_CHECKING:
    from bbops.interfaces.mcp.drafting.plans import ChangePlan
    from bbops.interfaces.mcp.drafting.project_repository import ProjectRepository


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


async def run(backend: ProjectBackend, params: ApplyChangesParams) -> ApplyChangesResult:
    """Commit the plan, and suggest the next calls."""
    done = await backend.run_operation(APPLY, params)
    return replace(done, next=[
        NextCall("validate_draft", {"draft": done.draft, "level": "test"}, "run its tests"),
        NextCall("apply_pull_request",
             {"draft": done.draft, "title": params.message[:200], "body": ""}, "ask for review"),
    ])  # fmt: skip


def do(repository: ProjectRepository, params: ApplyChangesParams) -> ApplyChangesResult:
    """Commit the plan, unless it was applied before.

    Raises:
        Refused: the draft has changed since the preview, or may not be written.
    """
    from bbops.interfaces.mcp.drafting.plans import read_plan, require_sound  # noqa: PLC0415
    from bbops.interfaces.mcp.drafting.serialization import clean_message  # noqa: PLC0415
    from bbops.source.git.writing import move_branch  # noqa: PLC0415

    draft, plan = repository.require_own(params.draft), read_plan(params.plan)
    files = require_sound(repository, plan)
    head = repository.resolve(draft)
    if existing := _find_done(repository, head, plan):
        return ApplyChangesResult(draft=draft, commit=existing, files=files, was_there=True)
    old = _require_fresh(repository, draft, head, plan)
    message = clean_message(params.message) or "Change"
    commit = repository.commit(plan.tree, plan.base, message)
    try:
        move_branch(repository.store.place, draft, old, commit, "apply a plan")
    except GitError:
        if existing := _find_done(
            repository, repository.resolve(draft), plan
        ):  # another call was as fast
            return ApplyChangesResult(draft=draft, commit=existing, files=files, was_there=True)
        raise
    return ApplyChangesResult(draft=draft, commit=commit, files=files)


def _find_done(repository: ProjectRepository, head: str | None, plan: ChangePlan) -> str:
    """Return the commit in a draft's history that has applied the plan; empty without one."""
    from bbops.source.git.command import run  # noqa: PLC0415

    if head is None or not repository.store.has_commit(plan.base):
        return ""
    answer = run(
        repository.store.place,
        ("rev-list", "--first-parent", "--parents", "--max-count=1000", f"{plan.base}..{head}"),
    )
    rows = [line.split() for line in answer.output.decode(errors="replace").splitlines()]
    commit = next((row[0] for row in rows if row[1:2] == [plan.base]), "")
    is_same = commit and repository.store.trees([commit]).get(commit) == plan.tree
    return commit if is_same else ""


def _require_fresh(
    repository: ProjectRepository, draft: str, head: str | None, plan: ChangePlan
) -> str:
    """Return the draft's head, NOTHING for a new one. Raises: Refused: the plan is outdated."""
    from bbops.source.git.writing import NOTHING  # noqa: PLC0415

    if (
        head is None
        and plan.head == NOTHING
        and repository.store.is_ancestor(plan.base, repository.head)
    ):
        repository.require_free(draft)
        return NOTHING
    if head == plan.base:
        return head
    again = NextCall("preview_changes", {"draft": draft}, "with the same changes")
    if head is None:
        raise ToolError(f"draft '{draft}' does not exist", hint="preview again", next=(again,))
    raise ToolError(
        f"draft '{draft}' is at {head[:12]} now, but the plan builds on {plan.base[:12]}",
        hint="preview the same changes again, with this draft", next=(again,),
    )  # fmt: skip


APPLY = RepositoryOperation(
    "apply_changes",
    ApplyChangesParams,
    ApplyChangesResult,
    do,
    writes=True,
    activity="commit to draft",
)

TOOL = McpTool(
    "apply_changes", "Commit to a draft",
    "Commits a previewed plan to a draft branch. The same plan twice gives the same commit. Live"
    " traffic stays as it is.",
    ApplyChangesParams, ApplyChangesResult, run, scope="builder", hints=WRITES,
)  # fmt: skip
