"""What would become of the live data, and which values miss, with tables that are not here yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from bbops.base.errors import BbopsError
from bbops_server.process.messages.jobs import CountJobs
from bbops_server.process.messages.proposals import WeighTables
from bbops_server.publish.sources.context import PublishContext

WEIGH_SECONDS: Final = 120.0


async def weigh(
    at: PublishContext, tables: Mapping[str, Mapping[str, Any]], env: Sequence[str]
) -> dict[str, Any]:
    """Return what `bbops db plan --json` would print, the names in `env` with a value, and jobs.

    Args:
        at: of the project.
        tables: as files would say them; they are checked like any.
        env: names of variables.

    Raises:
        BbopsError: the tables have mistakes, or the database cannot be asked.
    """
    asked = WeighTables(tables=tables, engine=at.engine, **at.asked_of)
    answer = await at.plane.build.ask(asked, timeout_seconds=WEIGH_SECONDS)
    values = [name for name in env if at.secrets.has(name)]
    return answer.plan | {"env": values, "work": await count_jobs(at)}


async def count_jobs(at: PublishContext) -> Mapping[str, tuple[int, int]] | None:
    """Return how many jobs have begun, and wait, by what they run; None where nothing is live."""
    try:
        answer = await at.plane.ask_project(at.project.name, CountJobs(at.project.name))
    except BbopsError:
        return None
    return answer.counts
