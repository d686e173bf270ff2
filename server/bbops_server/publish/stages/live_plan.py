"""The effect of uncommitted tables on the live data, and missing env values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from bbops_server.process.messages.proposals import WeighTables
from bbops_server.publish.sources.context import PublishContext
from bbops_server.publish.sources.job_counts import count_jobs

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
