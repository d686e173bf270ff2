"""Preview changes: write an unreferenced tree, and compute its effects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from bbops.base.errors import DatabaseError
from bbops.compiler.check import CheckedProject
from bbops.edit.authoring.changing import ChangedTree
from bbops.interfaces.mcp.drafting.file_changes import Bytes, change_files
from bbops.interfaces.mcp.drafting.fixes import Fixes
from bbops.interfaces.mcp.drafting.plans import ChangePlan
from bbops.interfaces.mcp.drafting.project_repository import ProjectRepository
from bbops.interfaces.mcp.drafting.serialization import cut, describe_diagnostics
from bbops.interfaces.mcp.project.preview_changes import (
    PlanEffect,
    PreviewChangesParams,
    PreviewChangesResult,
    TableMigration,
)
from bbops.interfaces.mcp.tool import NextCall, ToolError
from bbops.review.plan.codes import Finding
from bbops.review.plan.live import complete, read_answer
from bbops.review.plan.plan import Plan as Effects
from bbops.review.plan.plan import plan as compare
from bbops.review.plan.render import phrases
from bbops.review.plan.tables import TableChange
from bbops.source.git.writing import NOTHING, put_files, write_blobs
from bbops.source.tree import Tree

MAX_DIFF: Final = 12_000
MAX_EFFECTS: Final = 25
"""The most effects of each kind."""


def do(repository: ProjectRepository, params: PreviewChangesParams) -> PreviewChangesResult:
    """Return the preview; only the plan refers to the written tree."""
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
    current, _ = repository.check(_only_tables(repository.tree(repository.fork(base))))
    project, _ = repository.check(_only_tables(target))
    if not current or not project:
        return {}
    return {"migration": migrations(compare(current, project).tables)}


def _only_tables(tree: Tree) -> Tree:
    paths = (entry.path for entry in tree.entries())
    others = dict.fromkeys(path for path in paths if not path.startswith("tables/"))
    return ChangedTree(tree, others | {"project.yaml": b"bbops: 1\nname: tables\n"})


def _describe(effects: Effects) -> dict[str, Any]:
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
