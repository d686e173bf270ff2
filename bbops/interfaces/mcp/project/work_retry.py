"""Retry a job that is dead or held, or waits for its next attempt."""

from __future__ import annotations

from bbops.interfaces.mcp.models import Draft
from bbops.interfaces.mcp.project.work_show import JobName
from bbops.interfaces.mcp.project_backend import ProjectBackend
from bbops.interfaces.mcp.tool import McpTool, NextCall, ToolHints, ToolParams, ToolResult


class WorkRetryParams(ToolParams, frozen=True):
    """The job, and whether to run its completed steps again."""

    job: JobName
    draft: Draft = ""
    from_start: bool = False


class WorkRetryResult(ToolResult, frozen=True, kw_only=True):
    """The retried job."""

    job: str


async def run(backend: ProjectBackend, params: WorkRetryParams) -> WorkRetryResult:
    """Retry the job, and suggest a call that shows its progress."""
    jobs = await backend.jobs(params.draft)
    await jobs.change("retry", params.job, from_start=params.from_start)
    draft = {"draft": params.draft} if params.draft else {}
    return WorkRetryResult(
        job=params.job,
        next=[NextCall("work_show", {"job": params.job, **draft}, "see how it went")],
    )


TOOL = McpTool(
    "work_retry", "Retry a job",
    "Runs a dead, held or waiting job again, behind the last step it has done, or fromStart. Real"
    " work: call it only when the user asked.",
    WorkRetryParams, WorkRetryResult, run,
    scope="builder", hints=ToolHints(destroys=True, is_idempotent=False,
                                                         reaches_out=True),
)  # fmt: skip
