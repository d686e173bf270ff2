"""Summarize a project and its repository."""

from __future__ import annotations

from collections import Counter

from bbops.base.diagnostics import has_errors
from bbops.interfaces.mcp.drafting.files import ResourceFiles
from bbops.interfaces.mcp.drafting.project_repository import ProjectRepository
from bbops.interfaces.mcp.project.context_get import (
    ContextGetParams,
    DraftBranch,
    MergeRules,
    RepositoryOverview,
)
from bbops.language.project import Project
from bbops.review.plan.review import read_rules
from bbops.source.git.command import run

MAX_DRAFTS = 20


def do(repository: ProjectRepository, params: ContextGetParams) -> RepositoryOverview:
    """Return the overview of the repository."""
    del params
    head = repository.head
    tree = repository.tree(head)
    project, diagnostics = repository.check(tree)
    counts = Counter(ref.kind for ref in ResourceFiles(tree).entries)
    errors = (
        sum(diagnostic.severity == "error" for diagnostic in diagnostics)
        if has_errors(diagnostics)
        else 0
    )
    settings = project.settings.model if project else None
    return RepositoryOverview(
        project=settings.name if settings else "", live_branch=repository.live, head=head,
        description=(settings.description or "")[:500] if settings else "",
        counts=dict(sorted(counts.items())), errors=errors, drafts=_drafts(repository, head),
        rules=_rules(project) if project else None,
    )  # fmt: skip


def _drafts(repository: ProjectRepository, head: str) -> list[DraftBranch]:
    newest = [*repository.drafts().items()][:MAX_DRAFTS]
    return [DraftBranch(name, commit, _ahead(repository, head, commit)) for name, commit in newest]


def _ahead(repository: ProjectRepository, head: str, commit: str) -> int:
    answer = run(repository.store.place, ("rev-list", "--count", f"{head}..{commit}"))
    count = answer.output.decode(errors="replace").strip()
    return int(count) if answer.status == 0 and count.isdecimal() else 0


def _rules(project: Project) -> MergeRules:
    rules = read_rules(project)
    return MergeRules(rules.main, rules.approvals, rules.destructive, rules.most)
