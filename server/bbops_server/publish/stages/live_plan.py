"""The effect of uncommitted tables on the live data, and missing env values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from bbops.base.errors import BbopsError
from bbops_server.process.messages.jobs import CountJobs
from bbops_server.process.messages.proposals import WeighTables
from bbops_server.publish.sources.context import PublishContext

PLAN_SECONDS: Final = 120.0


async def plan_live(
    at: PublishContext, tables: Mapping[str, Mapping[str, Any]], env: Sequence[str]
) -> dict[str, Any]:
    """Return the plan as of `bbops db plan --json`, names in `env` with a value, and job counts.

    Args:
        at: the context of the project.
        tables: tables as in their files.
        env: names of variables.

    Raises:
        BbopsError: the tables have errors, or the database is unavailable.
    """
    request = WeighTables(tables=tables, engine=at.engine, **at.request_fields)
    answer = await at.plane.build.ask(request, timeout_seconds=PLAN_SECONDS)
    values = [name for name in env if at.secrets.has(name)]
    return answer.plan | {"env": values, "work": await count_jobs(at)}


async def count_jobs(at: PublishContext) -> Mapping[str, tuple[int, int]] | None:
    """Return the numbers of started and waiting jobs; None if nothing is live."""
    try:
        answer = await at.plane.ask_project(at.project.name, CountJobs(at.project.name))
    except BbopsError:
        return None
    return answer.counts
