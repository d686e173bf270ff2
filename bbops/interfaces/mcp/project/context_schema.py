"""Describe a resource kind, a step or an addon by its schema."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType

from bbops.interfaces.mcp.models import Kind
from bbops.interfaces.mcp.operation import RepositoryOperation
from bbops.interfaces.mcp.project_backend import ProjectBackend
from bbops.interfaces.mcp.tool import McpTool, ToolParams, ToolResult


class ContextSchemaParams(ToolParams, frozen=True):
    """The kind, the step or the addon; without parameters, all kinds are listed."""

    kind: Kind | UnsetType = UNSET
    step: Annotated[str, Meta(max_length=80, description="such as find or payments.refund")] = ""
    addon: Annotated[str, Meta(max_length=80)] = ""


class ContextSchemaResult(ToolResult, frozen=True, kw_only=True):
    """A JSON Schema 2020-12, a valid example, and the choices."""

    schema: dict[str, Any] = {}
    example: Any = None
    choices: dict[str, str] = {}
    note: str = ""


SCHEMA = RepositoryOperation("context_schema", ContextSchemaParams, ContextSchemaResult)


async def run(backend: ProjectBackend, params: ContextSchemaParams) -> ContextSchemaResult:
    """Return the schema."""
    return await backend.run_operation(SCHEMA, params)


TOOL = McpTool(
    "context_schema", "Resource schema",
    "JSON Schema and an example of a resource kind, a function step or an addon; one at a time.",
    ContextSchemaParams, ContextSchemaResult, run,
)  # fmt: skip
