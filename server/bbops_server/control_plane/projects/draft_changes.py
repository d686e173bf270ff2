"""Previewed commits on drafts from the dashboard, by the operations that agents use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Final

import msgspec

from bbops.base.errors import BbopsError
from bbops.interfaces.mcp.models import DraftChange, ToolDiagnostic
from bbops.interfaces.mcp.project.apply_changes import APPLY, ApplyChangesParams, ApplyChangesResult
from bbops.interfaces.mcp.project.preview_changes import (
    PATCH,
    PREVIEW,
    PlanEffect,
    PlanPatchParams,
    PreviewChangesParams,
    PreviewChangesResult,
)
from bbops.interfaces.mcp.tool import ToolError
from bbops_server.control_plane.web.refusals import refuse
from bbops_server.control_plane.web.visit import Visit
from bbops_server.mcp.project_backend import ServedBackend
from bbops_server.mcp.served import Served

MAX_MESSAGE: Final = 500
MAX_DRAFT: Final = 100
SEEN_SECONDS: Final = 10.0
"""How long a page waits for the draft of its commit."""

DraftName = Annotated[str, msgspec.Meta(max_length=MAX_DRAFT)]
Message = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_MESSAGE)]


class CommittedChange(msgspec.Struct, frozen=True):
    """The commit of a plan."""

    draft: str
    commit: str
    files: list[str]


def open_backend(visit: Visit, project: str) -> ServedBackend:
    """Return the backend of the tools, for the caller of a visit."""
    return ServedBackend(_served(visit, project))


async def preview_changes(
    visit: Visit, project: str, changes: Sequence[DraftChange], draft: str
) -> PreviewChangesResult:
    """Preview changes on a draft; a new draft starts from live.

    Raises:
        ToolError: a change cannot be made; `BbopsError` likewise.
    """
    params = PreviewChangesParams(changes=[*changes], draft=draft)
    return await open_backend(visit, project).run_operation(PREVIEW, params)


async def commit_plan(
    visit: Visit, project: str, draft: str, plan: str, message: str
) -> ApplyChangesResult:
    """Commit a previewed plan to a draft.

    Raises:
        HTTPException: the plan is stale, or the draft cannot be written.
    """
    params = ApplyChangesParams(draft=draft, plan=plan, message=message)
    try:
        return await open_backend(visit, project).run_operation(APPLY, params)
    except (ToolError, BbopsError) as error:
        raise refuse(error) from None


async def read_patch(visit: Visit, project: str, preview: PreviewChangesResult) -> str:
    """Return the whole patch of a preview; empty if it is longer than a shell takes.

    Raises:
        ToolError: the plan is not in the repository any more.
    """
    if not preview.is_diff_cut:
        return preview.diff
    params = PlanPatchParams(plan=preview.plan)
    return (await open_backend(visit, project).run_operation(PATCH, params)).patch


async def find_other_repository(visit: Visit, project: str) -> str:
    """Return the URL of the repository if the server only has a copy of it; else empty."""
    bench = await _served(visit, project).bench()
    return bench.elsewhere


async def find_slug_of(visit: Visit, project: str, draft: str, commit: str) -> str:
    """Return the slug of a draft once its status has a commit; empty if it has no preview."""
    drafts = visit.control.outlines.drafts_of(project)

    def is_seen() -> bool:
        found = drafts.find(draft)
        return found is not None and found.commit == commit

    drafts.refresh()
    await drafts.changed.wait(is_seen, SEEN_SECONDS)
    found = drafts.find(draft)
    return found.slug if found is not None else ""


def list_problems(diagnostics: Sequence[ToolDiagnostic], file: str = "") -> list[str]:
    """Return the errors as lines with their places; of `file` the warnings as well."""
    return [
        f"{item.file}:{item.line}: {item.severity}: {item.message}"
        + (f"; {item.hint}" if item.hint else "")
        for item in diagnostics
        if item.severity == "error" or item.file == file
    ]


def list_effects(preview: PreviewChangesResult) -> list[str]:
    """Return the consequences of a preview, one line each."""
    return [*_list_effects(preview)]


def _list_effects(preview: PreviewChangesResult) -> Iterator[str]:
    yield from preview.routes
    for title, effects in (
        ("breaks clients", preview.breaking), ("changes access", preview.access),
        ("affects jobs", preview.jobs),
    ):  # fmt: skip
        yield from (f"{title}: {_describe(effect)}" for effect in effects)
    for change in preview.migration:
        yield f"table: {change.change} ({change.risk})"
    for name in preview.missing_env:
        yield f"needs a value: {name}"
    for reason in preview.refused:
        yield f"cannot be merged: {reason}"
    if preview.approvals:
        people = "person" if preview.approvals == 1 else "people"
        yield f"needs the approval of {preview.approvals} {people}"


def _describe(effect: PlanEffect) -> str:
    text = f"{effect.subject}: {effect.message}"
    return f"{text} ({effect.cure})" if effect.cure else text


def explain(error: BbopsError | ToolError) -> str:
    """Return the message of an error with its hint."""
    return f"{error.message}; {error.hint}" if error.hint else error.message


def _served(visit: Visit, project: str) -> Served:
    return Served(visit.control, visit.caller, project, visit.address)
