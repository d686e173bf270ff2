"""Check a draft up to a level; the tests run elsewhere."""

from __future__ import annotations

from bbops.base.diagnostics import has_errors
from bbops.compiler.compile.release import build
from bbops.interfaces.mcp.drafting.fixes import Fixes
from bbops.interfaces.mcp.drafting.project_repository import ProjectRepository
from bbops.interfaces.mcp.drafting.serialization import describe_diagnostics
from bbops.interfaces.mcp.project.validate_draft import ValidateDraftParams, ValidateDraftResult
from bbops.language.loading.load import load


def do(repository: ProjectRepository, params: ValidateDraftParams) -> ValidateDraftResult:
    """Return the diagnostics."""
    commit = repository.find(params.draft)
    tree = repository.tree(commit)
    if params.level == "schema":
        diagnostics = load(tree, repository.cache.checked.files).diagnostics
    else:
        diagnostics = build(
            tree,
            repository.cache,
            database=repository.engine,
            off=repository.off,
            base=repository.accepted,
        ).diagnostics
    described, more = describe_diagnostics(diagnostics, Fixes(tree).find)
    return ValidateDraftResult(
        commit=commit, ok=not has_errors(diagnostics), diagnostics=described, more=more
    )  # fmt: skip
