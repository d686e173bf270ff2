"""Show a job: its causes, its obstacles, its completed steps, its payload, and an agent's trace."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from bbops.interfaces.mcp.models import MAX_RESULT, PREFIX, Draft, RunTrace
from bbops.interfaces.mcp.project.work_list import NOTE, JobLine, line_of
from bbops.interfaces.mcp.project_backend import ProjectBackend
from bbops.interfaces.mcp.tool import McpTool, NextCall, ToolHints, ToolParams, ToolResult

JobName = Annotated[str, Meta(min_length=1, max_length=400)]


class WorkShowParams(ToolParams, frozen=True):
    """The job to show."""

    job: JobName
    draft: Draft = ""


class WorkShowResult(ToolResult, frozen=True, kw_only=True):
    """A job; secrets and private columns are masked. `run` is there for a job of an agent."""

    note: str = NOTE
    job: JobLine
    causes: list[str]
    waits: list[str]
    done: list[str]
    payload: str
    is_cut: bool = False
    run: RunTrace | None = None


async def run(backend: ProjectBackend, params: WorkShowParams) -> WorkShowResult:
    """Return the job, and suggest a retry if it needs one."""
    jobs = await backend.jobs(params.draft)
    story = await jobs.show(params.job)
    traced = await jobs.find_run(params.job) if params.job.startswith(PREFIX) else None
    calls = []
    if story.job.state in {"dead", "held"}:
        draft = {"draft": params.draft} if params.draft else {}
        calls = [
            NextCall("work_retry", {"job": params.job, **draft}, "run it again, once it is fixed")
        ]
    return WorkShowResult(
        job=line_of(story.job), causes=story.causes, waits=story.waits, done=story.steps,
        payload=story.payload[:MAX_RESULT], is_cut=len(story.payload) > MAX_RESULT,
        run=None if traced is None else RunTrace.of(traced), next=calls,
    )  # fmt: skip


TOOL = McpTool(
    "work_show", "One job",
    "Shows a job: its causes back to the request, what it waits for, steps done, and"
    " its payload, masked.",
    WorkShowParams, WorkShowResult, run,
    scope="data", hints=ToolHints(reads_only=True, reaches_out=True),
)  # fmt: skip
