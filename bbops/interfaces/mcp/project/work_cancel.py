"""End a job that has not ended."""

from __future__ import annotations

from bbops.interfaces.mcp.models import Draft
from bbops.interfaces.mcp.project.work_show import JobName
from bbops.interfaces.mcp.project_backend import ProjectBackend
from bbops.interfaces.mcp.tool import Gives, Hints, Takes, Tool


class Cancelling(Takes, frozen=True):
    """Which job."""

    job: JobName
    draft: Draft = ""


class Cancelled(Gives, frozen=True, kw_only=True):
    """The job that was ended."""

    job: str


async def run(place: ProjectBackend, taken: Cancelling) -> Cancelled:
    """Cancel it; that cannot be undone."""
    await (await place.jobs(taken.draft)).change("cancel", taken.job)
    return Cancelled(job=taken.job)


TOOL = Tool(
    "work_cancel", "Cancel a job",
    "Ends a job for good, a running one at its next step. Call it only when the user asked.",
    Cancelling, Cancelled, run, scope="builder", hints=Hints(destroys=True, reaches_out=True),
)  # fmt: skip
