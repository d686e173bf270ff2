"""Write the diff between two trees of a project, as `git diff` does."""

from __future__ import annotations

from bbops.interfaces.mcp.drafting.project_repository import ProjectRepository
from bbops.interfaces.mcp.drafting.serialization import cut
from bbops.interfaces.mcp.models import MAX_RESULT
from bbops.interfaces.mcp.project.review_pull_request import DiffParams, DiffPart


def do(repository: ProjectRepository, params: DiffParams) -> DiffPart:
    """Return the part of the diff from an offset on."""
    base = params.base or _before(repository, params.head)
    rest = repository.diff(base, params.head)[params.begin :]
    text, is_cut = cut(rest, MAX_RESULT)
    return DiffPart(text, params.begin + len(text) if is_cut else 0)


def _before(repository: ProjectRepository, head: str) -> str:
    """Return the fork point of a commit; for a commit of the live branch, its parent."""
    fork = repository.fork(head)
    return fork if fork != head else (repository.store.parents(head) or (head,))[0]
