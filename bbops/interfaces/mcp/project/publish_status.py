"""Report the progress of a publication."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from bbops.interfaces.mcp.models import ToolDiagnostic
from bbops.interfaces.mcp.project_backend import ProjectBackend
from bbops.interfaces.mcp.tool import McpTool, NextCall, ToolParams, ToolResult


class PublishStatusParams(ToolParams, frozen=True):
    """The commit."""

    commit: Annotated[
        str, Meta(pattern="^([0-9a-f]{7,64})?$", description="omit for the newest")
    ] = ""


class PublishStatusResult(ToolResult, frozen=True, kw_only=True):
    """The progress of a commit; `live` is the live commit."""

    commit: str
    state: str
    stage: str
    live: str
    version: str
    message: str
    diagnostics: list[ToolDiagnostic]


async def run(backend: ProjectBackend, params: PublishStatusParams) -> PublishStatusResult:
    """Return the progress, and suggest the next call."""
    progress = await backend.read_progress(params.commit)
    unfinished = {"queued", "publishing"}
    arguments = {"commit": params.commit} if params.commit else {}
    retry = NextCall("publish_status", arguments, "look again")
    calls = [retry] if progress.state in unfinished else []
    if progress.state == "live":
        calls = [NextCall("review_activity", {"what": "errors"}, "see recent errors")]
    return PublishStatusResult(
        commit=progress.commit, state=progress.state, stage=progress.stage, live=progress.live,
        version=progress.version, message=progress.message,
        diagnostics=list(progress.diagnostics), next=calls,
    )  # fmt: skip


TOOL = McpTool(
    "publish_status", "Publish progress",
    "Publishing status of a commit, and the reason if it stopped.",
    PublishStatusParams, PublishStatusResult, run,
)  # fmt: skip
