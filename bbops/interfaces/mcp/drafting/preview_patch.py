"""Return the whole diff of a plan, for a commit in a clone."""

from __future__ import annotations

from typing import Final

from bbops.interfaces.mcp.drafting.plans import read_plan, require_sound
from bbops.interfaces.mcp.drafting.project_repository import ProjectRepository
from bbops.interfaces.mcp.project.preview_changes import PlanPatch, PlanPatchParams

MAX_PATCH: Final = 256_000
"""Characters; a longer patch cannot be pasted into a shell."""


def do(repository: ProjectRepository, params: PlanPatchParams) -> PlanPatch:
    """Return the patch. Raises: Refused: the repository does not have the plan."""
    plan = read_plan(params.plan)
    require_sound(repository, plan)
    text = repository.diff(plan.base, plan.tree)
    return PlanPatch(patch=text if len(text) <= MAX_PATCH else "")
