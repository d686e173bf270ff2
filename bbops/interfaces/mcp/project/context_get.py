"""Describe the state of a project, and the permissions of the caller."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from bbops.base.diagnostics import has_errors
from bbops.interfaces.mcp.models import ProposalSummary
from bbops.interfaces.mcp.operation import RepositoryOperation
from bbops.interfaces.mcp.project_backend import ProjectBackend
from bbops.interfaces.mcp.tool import McpTool, NextCall, ToolParams, ToolResult

if TYPE_CHECKING:
    from bbops.interfaces.mcp.drafting.project_repository import ProjectRepository
    from bbops.language.project import Project

MAX_DRAFTS = 20


class ContextGetParams(ToolParams, frozen=True):
    """The tool has no parameters."""


class DraftBranch(msgspec.Struct, frozen=True):
    """A draft; `ahead` is the number of its commits that are not on the live branch."""

    name: str
    head: str
    ahead: int


class MergeRules(msgspec.Struct, frozen=True, rename="camel"):
    """The rules of a merge: the `review` of project.yaml."""

    main: str
    approvals: int
    approvals_where_something_is_lost: int
    most_removed_percent: int | None


class RepositoryOverview(ToolResult, frozen=True, kw_only=True):
    """The project in the repository."""

    project: str = ""
    description: str = ""
    live_branch: str
    head: str
    counts: dict[str, int] = {}
    errors: int = 0
    drafts: list[DraftBranch] = []
    rules: MergeRules | None = None


class ContextGetResult(RepositoryOverview, frozen=True, kw_only=True):
    """The project in the repository and on the server."""

    url: str = ""
    published: str = ""
    version: str = ""
    message: str = ""
    may: list[str] = []
    pulls: list[ProposalSummary] = []


async def run(backend: ProjectBackend, params: ContextGetParams) -> ContextGetResult:
    """Combine the overview of the repository with the state on the server."""
    overview, state = await backend.run_operation(OVERVIEW, params), await backend.read_state()
    names = (name for name in overview.__struct_fields__ if name != "next")
    fields = {name: getattr(overview, name) for name in names}
    return ContextGetResult(
        **fields | {"project": state.name or overview.project},
        url=state.url, published=state.published, version=state.version,
        message=state.message, may=list(state.may), pulls=list(state.proposals),
        next=[
            NextCall("context_list", {}, "see the resources"),
            NextCall("context_schema", {}, "see the schema of a resource"),
        ],
    )  # fmt: skip


def do(repository: ProjectRepository, params: ContextGetParams) -> RepositoryOverview:
    """Return the overview of the repository."""
    from bbops.interfaces.mcp.drafting.files import ResourceFiles  # noqa: PLC0415

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
    from bbops.source.git.command import run  # noqa: PLC0415

    answer = run(repository.store.place, ("rev-list", "--count", f"{head}..{commit}"))
    count = answer.output.decode(errors="replace").strip()
    return int(count) if answer.status == 0 and count.isdecimal() else 0


def _rules(project: Project) -> MergeRules:
    from bbops.review.plan.review import read_rules  # noqa: PLC0415

    rules = read_rules(project)
    return MergeRules(rules.main, rules.approvals, rules.destructive, rules.most)


OVERVIEW = RepositoryOperation("context_get", ContextGetParams, RepositoryOverview, do)

TOOL = McpTool(
    "context_get", "Project overview",
    "Call first. Live release, drafts, open pull requests, counts, merge rules and what you are"
    " allowed to do.",
    ContextGetParams, ContextGetResult, run,
)  # fmt: skip
