"""List published versions, or the commits of a resource."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from bbops.interfaces.mcp.models import Cursor, Limit, ShortRef
from bbops.interfaces.mcp.operation import RepositoryOperation
from bbops.interfaces.mcp.project_backend import ProjectBackend
from bbops.interfaces.mcp.tool import McpTool, NextCall, ToolParams, ToolResult


class RecoveryHistoryParams(ToolParams, frozen=True):
    """The resource, or the whole project without one, and the page."""

    ref: ShortRef = ""
    cursor: Cursor = ""
    limit: Limit = 20


class HistoryEntry(msgspec.Struct, frozen=True):
    """A version, a snapshot or a commit; `tag` is empty if the commit was never live."""

    commit: str
    at: str
    author: str
    summary: str
    tag: str = ""


class RecoveryHistoryResult(ToolResult, frozen=True, kw_only=True):
    """A page of versions, newest first; the first page has the snapshots."""

    versions: list[HistoryEntry]
    snapshots: list[HistoryEntry] = []
    next_cursor: str = ""


HISTORY = RepositoryOperation("recovery_history", RecoveryHistoryParams, RecoveryHistoryResult)


async def run(backend: ProjectBackend, params: RecoveryHistoryParams) -> RecoveryHistoryResult:
    """Return the page, and suggest a rollback."""
    result = await backend.run_operation(HISTORY, params)
    tags = [version.tag for version in result.versions if version.tag]
    if len(tags) < 2:
        return result
    arguments: dict[str, Any] = {"to": tags[1], "reason": "Describe the reason"}
    if params.ref:
        arguments |= {"refs": [params.ref]}
    reason = "open a rollback as a pull request"
    return replace(result, next=[NextCall("recovery_rollback", arguments, reason)])


TOOL = McpTool(
    "recovery_history", "Version history",
    "Published versions and snapshots, newest first; with ref, the commits of one resource.",
    RecoveryHistoryParams, RecoveryHistoryResult, run,
)  # fmt: skip
