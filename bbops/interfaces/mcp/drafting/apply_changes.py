"""Commit a plan to a draft; applying a plan twice gives the same commit."""

from __future__ import annotations

from bbops.base.errors import GitError
from bbops.interfaces.mcp.drafting.plans import ChangePlan, read_plan, require_sound
from bbops.interfaces.mcp.drafting.project_repository import ProjectRepository
from bbops.interfaces.mcp.drafting.serialization import clean_message
from bbops.interfaces.mcp.project.apply_changes import ApplyChangesParams, ApplyChangesResult
from bbops.interfaces.mcp.tool import NextCall, ToolError
from bbops.source.git.command import run
from bbops.source.git.writing import NOTHING, move_branch


def do(repository: ProjectRepository, params: ApplyChangesParams) -> ApplyChangesResult:
    """Commit the plan, unless it was applied before.

    Raises:
        Refused: the draft has changed since the preview, or may not be written.
    """
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
