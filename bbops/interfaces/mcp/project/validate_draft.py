"""Check a draft: its files, its compilation, its tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from bbops.base.diagnostics import has_errors
from bbops.interfaces.mcp.models import Draft, ToolDiagnostic
from bbops.interfaces.mcp.operation import RepositoryOperation
from bbops.interfaces.mcp.project_backend import ProjectBackend
from bbops.interfaces.mcp.tool import McpTool, NextCall, ToolParams, ToolResult

if TYPE_CHECKING:
    from bbops.interfaces.mcp.drafting.project_repository import ProjectRepository


class ValidateDraftParams(ToolParams, frozen=True):
    """The draft, and the level of the check."""

    draft: Draft = ""
    level: Annotated[
        Literal["schema", "compile", "test"], Meta(description="each includes the previous ones")
    ] = "compile"


class DraftTests(msgspec.Struct, frozen=True):
    """The results of the tests."""

    cases: int
    failed: int
    seconds: float


class ValidateDraftResult(ToolResult, frozen=True, kw_only=True):
    """The diagnostics; `more` is the number of further ones."""

    commit: str
    ok: bool
    diagnostics: list[ToolDiagnostic]
    more: int = 0
    tests: DraftTests | None = None


async def run(backend: ProjectBackend, params: ValidateDraftParams) -> ValidateDraftResult:
    """Check the draft, run its tests if possible, and suggest the next call."""
    result = await backend.run_operation(CHECK, params)
    if params.level == "test" and result.ok:
        tested = await backend.test(result.commit)
        result = replace(
            result, ok=not tested.diagnostics,
            diagnostics=[*tested.diagnostics, *result.diagnostics],
            tests=DraftTests(tested.cases, tested.failed, tested.seconds),
        )  # fmt: skip
    errors = (item for item in result.diagnostics if item.ref and item.severity == "error")
    refs = sorted({item.ref for item in errors})
    draft = {"draft": params.draft} if params.draft else {}
    if refs:
        reason = "read the resources with errors"
        return replace(
            result, next=[NextCall("context_read", {"refs": refs[:20], **draft}, reason)]
        )
    arguments = {"draft": params.draft, "title": "Describe the change", "body": ""}
    calls = [NextCall("apply_pull_request", arguments, "ask for review")] if params.draft else []
    return replace(result, next=calls)


def do(repository: ProjectRepository, params: ValidateDraftParams) -> ValidateDraftResult:
    """Return the diagnostics."""
    from bbops.compiler.compile.release import build  # noqa: PLC0415
    from bbops.interfaces.mcp.drafting.fixes import Fixes  # noqa: PLC0415
    from bbops.interfaces.mcp.drafting.serialization import describe_diagnostics  # noqa: PLC0415
    from bbops.language.loading.load import load  # noqa: PLC0415

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


CHECK = RepositoryOperation("validate_draft", ValidateDraftParams, ValidateDraftResult, do)

TOOL = McpTool(
    "validate_draft", "Validate a draft",
    "Checks files, compiles functions, runs tests. Each diagnostic has file, line, hint and, if"
    " known, a fix: a change to send to preview_changes.",
    ValidateDraftParams, ValidateDraftResult, run,
)  # fmt: skip
