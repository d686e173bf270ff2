"""Run a job again that is dead or held, or waits for its next attempt."""

from __future__ import annotations

from bbops.interfaces.mcp.models import Draft
from bbops.interfaces.mcp.project.work_show import JobName
from bbops.interfaces.mcp.project_backend import ProjectBackend
from bbops.interfaces.mcp.tool import Call, Gives, Hints, Takes, Tool


class Retrying(Takes, frozen=True):
    """Which job, and from where."""

    job: JobName
    draft: Draft = ""
    from_start: bool = False


class Retried(Gives, frozen=True, kw_only=True):
    """The job that runs again."""

    job: str


async def run(place: ProjectBackend, taken: Retrying) -> Retried:
    """Retry, and say how to follow it."""
    jobs = await place.jobs(taken.draft)
    await jobs.change("retry", taken.job, from_start=taken.from_start)
    of = {"draft": taken.draft} if taken.draft else {}
    return Retried(
        job=taken.job, next=[Call("work_show", {"job": taken.job, **of}, "see how it went")]
    )


TOOL = Tool(
    "work_retry", "Retry a job",
    "Runs a dead, held or waiting job again, behind the last step it has done, or fromStart. Real"
    " work: call it only when the user asked.",
    Retrying, Retried, run, scope="builder", hints=Hints(destroys=True, is_idempotent=False,
                                                         reaches_out=True),
)  # fmt: skip
