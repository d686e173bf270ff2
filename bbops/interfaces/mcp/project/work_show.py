"""Show one job: what caused it, what it waits for, what it has done and was given."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from bbops.interfaces.mcp.models import MOST_RESULT, Draft
from bbops.interfaces.mcp.project.work_list import NOTE, JobLine, line_of
from bbops.interfaces.mcp.project_backend import ProjectBackend
from bbops.interfaces.mcp.tool import Call, Gives, Hints, Takes, Tool

JobName = Annotated[str, Meta(min_length=1, max_length=400)]


class Showing(Takes, frozen=True):
    """Which job."""

    job: JobName
    draft: Draft = ""


class Shown(Gives, frozen=True, kw_only=True):
    """What is known of a job; secrets and private columns are masked in its payload."""

    note: str = NOTE
    job: JobLine
    causes: list[str]
    waits: list[str]
    done: list[str]
    payload: str
    is_cut: bool = False


async def run(place: ProjectBackend, taken: Showing) -> Shown:
    """Show it, and say how it can go on."""
    found = await (await place.jobs(taken.draft)).show(taken.job)
    calls = []
    if found.job.state in {"dead", "held"}:
        of = {"draft": taken.draft} if taken.draft else {}
        calls = [Call("work_retry", {"job": taken.job, **of}, "run it again, once it is fixed")]
    return Shown(
        job=line_of(found.job), causes=found.causes, waits=found.waits, done=found.steps,
        payload=found.payload[:MOST_RESULT], is_cut=len(found.payload) > MOST_RESULT, next=calls,
    )  # fmt: skip


TOOL = Tool(
    "work_show", "One job",
    "Shows a job: its causes back to the request, what it waits for, steps done, and"
    " its payload, masked.",
    Showing, Shown, run, scope="data", hints=Hints(reads_only=True, reaches_out=True),
)  # fmt: skip
