"""Preview the effects of changes, without changing a branch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from bbops.base.errors import DatabaseError
from bbops.interfaces.mcp.models import MAX_CHANGES, DraftChange, ToolDiagnostic
from bbops.interfaces.mcp.operation import RepositoryOperation
from bbops.interfaces.mcp.project_backend import ProjectBackend
from bbops.interfaces.mcp.tool import McpTool, NextCall, ToolError, ToolParams, ToolResult

if TYPE_CHECKING:
    from bbops.compiler.check import CheckedProject
    from bbops.interfaces.mcp.drafting.file_changes import Bytes
    from bbops.interfaces.mcp.drafting.plans import ChangePlan
    from bbops.interfaces.mcp.drafting.project_repository import ProjectRepository
    from bbops.review.plan.codes import Finding
    from bbops.review.plan.plan import Plan as Effects
    from bbops.review.plan.tables import TableChange
    from bbops.source.tree import Tree

MAX_DIFF: Final = 12_000
MAX_EFFECTS: Final = 25
"""The most effects of each kind."""


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


class PlanPatchParams(ToolParams, frozen=True):
    """The plan of a preview."""

    plan: str


class PlanPatch(ToolResult, frozen=True, kw_only=True):
    """The whole diff of a plan, with paths from the repository's root; empty if it is too long."""

    patch: str


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


def do(repository: ProjectRepository, params: PreviewChangesParams) -> PreviewChangesResult:
    """Return the preview; only the plan refers to the written tree."""
    from bbops.interfaces.mcp.drafting.file_changes import change_files  # noqa: PLC0415
    from bbops.interfaces.mcp.drafting.plans import ChangePlan  # noqa: PLC0415
    from bbops.source.git.writing import NOTHING  # noqa: PLC0415

    is_own = bool(params.draft) and params.draft != repository.live
    head = repository.resolve(params.draft) if is_own else None
    if is_own and head is None:
        repository.require_free(
            repository.require_name(params.draft)
        )  # applying the plan creates it
    base = head or repository.head
    files = change_files(repository.tree(base), params.changes)
    if not files:
        call = NextCall(
            "context_read", {"refs": [change.ref for change in params.changes][:20]}, "compare"
        )
        raise ToolError(
            "nothing would change", hint="the draft already has this content", next=(call,)
        )
    plan = ChangePlan(base, write_tree(repository, base, files), head or NOTHING)
    return preview(repository, plan, params.draft if is_own else "", files)


def write_tree(repository: ProjectRepository, base: str, files: Bytes) -> str:
    """Write files into the repository, and return the resulting tree."""
    from bbops.source.git.writing import put_files, write_blobs  # noqa: PLC0415

    place = repository.store.place
    present = {path: data for path, data in files.items() if data is not None}
    blobs = dict(zip(present, write_blobs(place, list(present.values())), strict=True))
    entries = {
        repository.path(path): ("100644", blobs[path]) if path in blobs else None for path in files
    }
    return put_files(place, base, entries)


def preview(
    repository: ProjectRepository, plan: ChangePlan, draft: str, files: Bytes
) -> PreviewChangesResult:
    """Return the effects of a plan."""
    from bbops.interfaces.mcp.drafting.fixes import Fixes  # noqa: PLC0415
    from bbops.interfaces.mcp.drafting.serialization import cut, describe_diagnostics  # noqa: PLC0415
    from bbops.review.plan.render import phrases  # noqa: PLC0415

    tree = repository.tree(plan.tree)
    project, problems = repository.check(tree)
    text, is_cut = cut(repository.diff(plan.base, plan.tree), MAX_DIFF)
    diagnostics, _ = describe_diagnostics(problems, Fixes(tree).find)
    effects = find_effects(repository, plan.base, project) if project else None
    fields = _describe(effects) if effects else _describe_tables(repository, plan.base, tree)
    return PreviewChangesResult(
        plan=str(plan), base=plan.base, draft=draft, ok=project is not None, diff=text,
        is_diff_cut=is_cut, diagnostics=diagnostics,
        files={path: "removed" if data is None else "written" for path, data in files.items()},
        summary=phrases.summary(effects) if effects else "it has errors: see the diagnostics",
        **fields,
    )  # fmt: skip


def find_effects(
    repository: ProjectRepository, base: str, target: CheckedProject
) -> Effects | None:
    """Return the effects of a project compared with the live branch at the fork of `base`."""
    from bbops.review.plan.live import complete, read_answer  # noqa: PLC0415
    from bbops.review.plan.plan import plan as compare  # noqa: PLC0415

    current, _ = repository.check(repository.tree(repository.fork(base)))
    if current is None:
        return None
    effects = compare(current, target)
    if repository.read_live_data is None:
        return effects
    try:
        return complete(effects, read_answer(repository.read_live_data(target)))
    except DatabaseError:  # without the database, the other effects are still known
        return effects


def _describe_tables(repository: ProjectRepository, base: str, target: Tree) -> dict[str, Any]:
    """Return the effects on rows, if the tables themselves have no errors."""
    from bbops.review.plan.plan import plan as compare  # noqa: PLC0415

    current, _ = repository.check(_only_tables(repository.tree(repository.fork(base))))
    project, _ = repository.check(_only_tables(target))
    if not current or not project:
        return {}
    return {"migration": migrations(compare(current, project).tables)}


def _only_tables(tree: Tree) -> Tree:
    from bbops.edit.authoring.changing import ChangedTree  # noqa: PLC0415

    paths = (entry.path for entry in tree.entries())
    others = dict.fromkeys(path for path in paths if not path.startswith("tables/"))
    return ChangedTree(tree, others | {"project.yaml": b"bbops: 1\nname: tables\n"})


def _describe(effects: Effects) -> dict[str, Any]:
    from bbops.review.plan.render import phrases  # noqa: PLC0415

    routes = (
        f"{route.verb} {route.method} {route.path}: {phrases.of_route(route)}"
        for route in effects.routes
    )
    return {
        "routes": [*routes][:MAX_EFFECTS], "breaking": _findings(effects.breaks),
        "access": _findings(effects.access), "jobs": _jobs(effects),
        "migration": migrations(effects.tables),
        "missing_env": [variable.name for variable in effects.needs.env][:MAX_EFFECTS],
        "approvals": effects.verdict.approvals, "reasons": list(effects.verdict.reasons),
        "refused": list(effects.verdict.refused), "live_data": effects.looked,
    }  # fmt: skip


def _findings(findings: Sequence[Finding]) -> list[PlanEffect]:
    return [
        PlanEffect(item.code, item.subject, item.message, item.cure, item.file)
        for item in findings[:MAX_EFFECTS]
    ]


def _jobs(effects: Effects) -> list[PlanEffect]:
    from bbops.review.plan.render import phrases  # noqa: PLC0415

    return [
        PlanEffect(item.code, item.work, phrases.of_jobs(item), item.cure, item.file)
        for item in phrases.of_work(effects)[:MAX_EFFECTS]
    ]


def migrations(changes: Sequence[TableChange]) -> list[TableMigration]:
    """Return changes of tables, without the keys of affected rows."""
    return [
        TableMigration(_table(change), change.risk, change.cure if change.risk != "safe" else "")
        for change in changes[:MAX_EFFECTS]
    ]


def _table(change: TableChange) -> str:
    why = f"{change.rows} {change.why}" if change.why and change.rows else change.why
    return f"{change.kind} '{change.name}'" + (f": {why}" if why else "")


MAX_PATCH: Final = 256_000
"""Characters; a longer patch cannot be pasted into a shell."""


def find_patch(repository: ProjectRepository, params: PlanPatchParams) -> PlanPatch:
    """Return the patch. Raises: Refused: the repository does not have the plan."""
    from bbops.interfaces.mcp.drafting.plans import read_plan, require_sound  # noqa: PLC0415

    plan = read_plan(params.plan)
    require_sound(repository, plan)
    text = repository.diff(plan.base, plan.tree)
    return PlanPatch(patch=text if len(text) <= MAX_PATCH else "")


PREVIEW = RepositoryOperation(
    "preview_changes", PreviewChangesParams, PreviewChangesResult, do, leaves_objects=True
)

PATCH = RepositoryOperation("preview_patch", PlanPatchParams, PlanPatch, find_patch)
"""For people who commit in a clone. Agents commit with `apply_changes`, and need no patch."""

TOOL = McpTool(
    "preview_changes", "Preview changes",
    "Dry run: diff, mistakes, routes, database migration with risk, breaking API changes, missing"
    " environment variables. Returns the plan that apply_changes needs.",
    PreviewChangesParams, PreviewChangesResult, run,
)  # fmt: skip
