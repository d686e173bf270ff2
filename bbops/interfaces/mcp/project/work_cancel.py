"""Cancel a job that has not ended."""

from __future__ import annotations

from bbops.interfaces.mcp.models import Draft
from bbops.interfaces.mcp.project.work_show import JobName
from bbops.interfaces.mcp.project_backend import ProjectBackend
from bbops.interfaces.mcp.tool import McpTool, ToolHints, ToolParams, ToolResult


class WorkCancelParams(ToolParams, frozen=True):
    """The job to cancel."""

    job: JobName
    draft: Draft = ""


class WorkCancelResult(ToolResult, frozen=True, kw_only=True):
    """The cancelled job."""

    job: str


async def run(backend: ProjectBackend, params: WorkCancelParams) -> WorkCancelResult:
    """Cancel the job; this cannot be undone."""
    await (await backend.jobs(params.draft)).change("cancel", params.job)
    return WorkCancelResult(job=params.job)


TOOL = McpTool(
    "work_cancel", "Cancel a job",
    "Ends a job for good, a running one at its next step. Call it only when the user asked.",
    WorkCancelParams, WorkCancelResult, run,
    scope="builder", hints=ToolHints(destroys=True, reaches_out=True),
)  # fmt: skip
