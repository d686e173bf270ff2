"""The numbers of jobs of a live release, for plans of changes."""

from __future__ import annotations

from collections.abc import Mapping

from bbops.base.errors import BbopsError
from bbops_server.process.messages.jobs import CountJobs
from bbops_server.publish.sources.context import PublishContext


async def count_jobs(at: PublishContext) -> Mapping[str, tuple[int, int]] | None:
    """Return the numbers of started and waiting jobs; None if nothing is live."""
    try:
        answer = await at.plane.ask_project(at.project.name, CountJobs(at.project.name))
    except BbopsError:
        return None
    return answer.counts
