"""Preview an addon made from an OpenAPI document, without changing a branch."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from bbops.interfaces.mcp.operation import RepositoryOperation
from bbops.interfaces.mcp.project.preview_changes import NAME, PreviewChangesResult
from bbops.interfaces.mcp.project_backend import ProjectBackend
from bbops.interfaces.mcp.tool import McpTool, NextCall, ToolParams

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


IMPORT = RepositoryOperation(
    "preview_addon", PreviewAddonParams, PreviewAddonResult, leaves_objects=True
)


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


TOOL = McpTool(
    "preview_addon", "Preview an addon",
    "Dry run, as preview_changes: makes operations of an OpenAPI 3 document steps of an addon.",
    PreviewAddonParams, PreviewAddonResult, run,
)  # fmt: skip
