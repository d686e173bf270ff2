"""Preview an addon made from a document: an unreferenced tree, and its effects."""

from __future__ import annotations

from pathlib import Path

from bbops.base.errors import BbopsError
from bbops.edit.authoring.changing import Change
from bbops.edit.authoring.folder import Folder
from bbops.edit.importing.addon import Imported, import_addon
from bbops.edit.importing.sources import read_openapi
from bbops.interfaces.mcp.drafting.plans import ChangePlan
from bbops.interfaces.mcp.drafting.preview_changes import preview, write_tree
from bbops.interfaces.mcp.drafting.project_repository import ProjectRepository
from bbops.interfaces.mcp.project.preview_addon import (
    ImportedStep,
    PreviewAddonParams,
    PreviewAddonResult,
    StepChange,
)
from bbops.interfaces.mcp.tool import ToolError
from bbops.source.git.writing import NOTHING


def do(repository: ProjectRepository, params: PreviewAddonParams) -> PreviewAddonResult:
    """Return the preview; only the plan refers to the written tree.

    Raises:
        Refused: the document cannot be read, or does not contain an operation.
    """
    is_own = bool(params.draft) and params.draft != repository.live
    head = repository.resolve(params.draft) if is_own else None
    if is_own and head is None:
        repository.require_free(repository.require_name(params.draft))
    base = head or repository.head
    change = Change(Folder(Path(), repository.tree(base)))
    try:
        source = read_openapi(params.document.encode(), "document", params.server)
        imported = import_addon(change, params.name, source, params.steps)
    except BbopsError as error:
        raise ToolError(error.message, hint=error.hint) from None
    if not change.files:
        raise ToolError("nothing would change", hint="the draft already has this version")
    plan = ChangePlan(base, write_tree(repository, base, change.files), head or NOTHING)
    result = preview(repository, plan, params.draft if is_own else "", change.files)
    fields = {name: getattr(result, name) for name in result.__struct_fields__}
    return PreviewAddonResult(**fields, steps=_steps(imported), notes=imported.notes)


def _steps(imported: Imported) -> list[ImportedStep]:
    return [
        ImportedStep(
            f"{imported.addon}.{step.name}", step.operation, step.what,
            [StepChange(change.effect, change.text) for change in step.changes],
            list(step.functions),
        ) for step in imported.steps
    ]  # fmt: skip
