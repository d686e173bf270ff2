"""Preview an addon made from an OpenAPI document, without changing a branch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from bbops.base.errors import BbopsError
from bbops.interfaces.mcp.operation import RepositoryOperation
from bbops.interfaces.mcp.project.preview_changes import (
    NAME,
    PreviewChangesResult,
    preview,
    write_tree,
)
from bbops.interfaces.mcp.project_backend import ProjectBackend
from bbops.interfaces.mcp.tool import McpTool, NextCall, ToolError, ToolParams

if TYPE_CHECKING:
    from bbops.edit.importing.addon import Imported
    from bbops.interfaces.mcp.drafting.project_repository import ProjectRepository


MAX_DOCUMENT_CHARACTERS: Final = 1_000_000
MAX_STEPS: Final = 30


class PreviewAddonParams(ToolParams, frozen=True):
    """The document, and the operations that become steps."""

    name: Annotated[str, Meta(max_length=63)]
    document: Annotated[str, Meta(max_length=MAX_DOCUMENT_CHARACTERS)]
    steps: Annotated[
        dict[str, str],
        Meta(max_length=MAX_STEPS, description="createRefund: POST /v1/refunds"),
    ] = {}
    server: Annotated[str, Meta(max_length=500)] = ""
    draft: Annotated[str, Meta(max_length=100)] = ""


class StepChange(msgspec.Struct, frozen=True):
    """The effect of a new version of a step on functions: `breaks`, `widens`, or needs a `look`."""

    effect: str
    text: str


class ImportedStep(msgspec.Struct, frozen=True):
    """An imported step: `made`, `changed`, `same`, or `kept` because it was edited."""

    step: str
    operation: str
    what: str
    changes: list[StepChange] = []
    functions: list[str] = []


class PreviewAddonResult(PreviewChangesResult, frozen=True, kw_only=True):
    """The preview, with the imported steps."""

    steps: list[ImportedStep] = []
    notes: list[str] = []


async def run(backend: ProjectBackend, params: PreviewAddonParams) -> PreviewAddonResult:
    """Preview the addon, and suggest the next call."""
    result = await backend.run_operation(IMPORT, params)
    if not result.ok:
        return result
    draft = params.draft or NAME
    arguments = {"draft": draft, "plan": result.plan, "message": f"Add the addon {params.name}"}
    return replace(
        result, next=[NextCall("apply_changes", arguments, "commit exactly this to a draft")]
    )


def do(repository: ProjectRepository, params: PreviewAddonParams) -> PreviewAddonResult:
    """Return the preview; only the plan refers to the written tree.

    Raises:
        Refused: the document cannot be read, or does not contain an operation.
    """
    from bbops.edit.authoring.changing import Change  # noqa: PLC0415
    from bbops.edit.authoring.folder import Folder  # noqa: PLC0415
    from bbops.edit.importing.addon import import_addon  # noqa: PLC0415
    from bbops.edit.importing.sources import read_openapi  # noqa: PLC0415
    from bbops.interfaces.mcp.drafting.plans import ChangePlan  # noqa: PLC0415
    from bbops.source.git.writing import NOTHING  # noqa: PLC0415

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


IMPORT = RepositoryOperation(
    "preview_addon", PreviewAddonParams, PreviewAddonResult, do, leaves_objects=True
)

TOOL = McpTool(
    "preview_addon", "Preview an addon",
    "Dry run, as preview_changes: makes operations of an OpenAPI 3 document steps of an addon.",
    PreviewAddonParams, PreviewAddonResult, run,
)  # fmt: skip
