"""Preview the effects of changes, without changing a branch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from bbops.interfaces.mcp.models import MAX_CHANGES, DraftChange, ToolDiagnostic
from bbops.interfaces.mcp.operation import RepositoryOperation
from bbops.interfaces.mcp.project_backend import ProjectBackend
from bbops.interfaces.mcp.tool import McpTool, NextCall, ToolParams, ToolResult


class PreviewChangesParams(ToolParams, frozen=True):
    """The changes, in this order; all are made or none."""

    changes: Annotated[list[DraftChange], Meta(min_length=1, max_length=MAX_CHANGES)]
    draft: Annotated[
        str,
        Meta(
            max_length=100, description="Draft to build on; a new one starts from the live branch"
        ),
    ] = ""


class PlanEffect(msgspec.Struct, frozen=True):
    """An effect that breaks clients, or loosens access."""

    code: str
    subject: str
    message: str
    cure: str
    file: str


class TableMigration(msgspec.Struct, frozen=True):
    """A change of a table; `risk` is safe, depends, destructive or impossible."""

    change: str
    risk: str
    cure: str = ""


class PreviewChangesResult(ToolResult, frozen=True, kw_only=True):
    """The effects of the changes.

    Attributes:
        plan: the plan for apply_changes; it only contains ids of commits and trees.
        files: the changed files, by path.
        routes, breaking, access, jobs, migration, missing_env: compared with the live branch when
            the draft left it.
        live_data: whether the affected rows were counted in the live database.
    """

    plan: str
    base: str
    draft: str
    ok: bool
    summary: str
    files: dict[str, str]
    diff: str
    is_diff_cut: bool = False
    diagnostics: list[ToolDiagnostic] = []
    routes: list[str] = []
    breaking: list[PlanEffect] = []
    access: list[PlanEffect] = []
    jobs: list[PlanEffect] = []
    migration: list[TableMigration] = []
    missing_env: list[str] = []
    approvals: int = 0
    reasons: list[str] = []
    refused: list[str] = []
    live_data: bool = False


PREVIEW = RepositoryOperation(
    "preview_changes", PreviewChangesParams, PreviewChangesResult, leaves_objects=True
)


class PlanPatchParams(ToolParams, frozen=True):
    """The plan of a preview."""

    plan: str


class PlanPatch(ToolResult, frozen=True, kw_only=True):
    """The whole diff of a plan, with paths from the repository's root; empty if it is too long."""

    patch: str


PATCH = RepositoryOperation("preview_patch", PlanPatchParams, PlanPatch)
"""For people who commit in a clone. Agents commit with `apply_changes`, and need no patch."""
NAME = "my-change"


async def run(backend: ProjectBackend, params: PreviewChangesParams) -> PreviewChangesResult:
    """Preview the changes, and suggest the next call."""
    result = await backend.run_operation(PREVIEW, params)
    if not result.ok:
        return replace(result, next=[*_suggest_fixes(result)])
    arguments = {
        "draft": params.draft or NAME, "plan": result.plan, "message": "Describe the change",
    }  # fmt: skip
    return replace(
        result, next=[NextCall("apply_changes", arguments, "commit exactly this to a draft")]
    )


def _suggest_fixes(result: PreviewChangesResult) -> Iterator[NextCall]:
    """Yield calls that help to fix errors: the schemas of sent files, the content of others."""
    errors = (item for item in result.diagnostics if item.ref and item.severity == "error")
    files = {item.ref: item.file for item in errors}
    unsent = sorted(ref for ref, file in files.items() if file not in result.files)[:20]
    kinds = sorted({ref.partition("/")[0] for ref, file in files.items() if file in result.files})
    if unsent:
        yield NextCall("context_read", {"refs": unsent}, "read what has changed")
    for kind in kinds[:2]:
        yield NextCall(
            "context_schema", {"kind": kind}, "see the schema, then send all changes again"
        )


TOOL = McpTool(
    "preview_changes", "Preview changes",
    "Dry run: diff, mistakes, routes, database migration with risk, breaking API changes, missing"
    " environment variables. Returns the plan that apply_changes needs.",
    PreviewChangesParams, PreviewChangesResult, run,
)  # fmt: skip
