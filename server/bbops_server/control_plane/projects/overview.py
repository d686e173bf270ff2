"""A project's overview: its requests over time, stalled drafts, proposals and dead jobs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from litestar.exceptions import HTTPException

from bbops.base.json_traffic import EndpointRanking, TrafficPoint
from bbops.base.json_work import JobList
from bbops.interfaces.answers import DraftStatus, Publication, PullStatus
from bbops.source.git.proposals import Proposal
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.projects.requests import find_history
from bbops_server.control_plane.projects.visited_project import VisitedProject
from bbops_server.control_plane.proposals.pulls import list_open_pulls
from bbops_server.control_plane.proposals.review import VisitedProposals
from bbops_server.control_plane.web.charts import Chart, ChartRelease, draw_charts
from bbops_server.control_plane.web.visit import Visit
from bbops_server.data_plane.live.history import FAILED, find
from bbops_server.data_plane.live.traffic import (
    RANKED_SECONDS,
    Period,
    now,
    rank_endpoints,
    read_traffic,
)
from bbops_server.process.messages.jobs import ListJobs

MAX_LISTED: Final = 5
_JOBS_SECONDS: Final = 2.0
"""The longest wait for a data process, which may be busy or starting."""


@dataclass(frozen=True, slots=True)
class OverviewRange:
    """A selectable period; `since` is the same period for the page of requests."""

    name: str
    text: str
    seconds: int
    since: str


RANGES: Final = (
    OverviewRange("hour", "hour", 3_600, "1h"), OverviewRange("day", "day", 86_400, "1d"),
    OverviewRange("14d", "14 days", 14 * 86_400, "14d"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class RequestOverview:
    """Requests of a period.

    Attributes:
        failed: the newest request that failed; None without one.
    """

    charts: Sequence[Chart]
    total: TrafficPoint
    ranking: EndpointRanking
    failed: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Overview:
    """The state of a project; None or empty for parts that the caller may not read.

    Attributes:
        stalled: drafts whose newest commit is not live.
        dead: dead jobs and the next runs of tasks.
    """

    requests: RequestOverview | None
    stalled: Sequence[DraftStatus]
    proposals: Sequence[Proposal]
    pulls: Sequence[PullStatus]
    dead: JobList | None


def find_range(name: str) -> OverviewRange | None:
    """Return a period by its name, by default the last hour; None for an unknown name."""
    return next((period for period in RANGES if period.name == (name or "hour")), None)


async def read_overview(
    visit: Visit, name: str, chosen: OverviewRange, publications: Iterable[Publication]
) -> Overview:  # fmt: skip
    """Return the overview of a project; a part that cannot be read is left out.

    Args:
        publications: the newest publications; the charts mark the releases among them.
    """
    requests, proposals, dead = await asyncio.gather(
        _read_requests(visit, name, chosen, publications), _list_proposals(visit, name),
        _list_jobs(visit, name),
    )  # fmt: skip
    drafts = visit.control.status.drafts(name)
    stalled = [draft for draft in drafts.list() if draft.state == "stalled"] if drafts else []
    return Overview(requests, stalled, proposals, list_open_pulls(visit, name), dead)


async def _read_requests(
    visit: Visit, name: str, chosen: OverviewRange, publications: Iterable[Publication]
) -> RequestOverview | None:
    if not visit.may(Permission.READ_REQUESTS, name):
        return None
    history, run, until = find_history(visit, name), visit.control.run, now()
    since = until - chosen.seconds
    traffic = await run(read_traffic, history, Period.read(since, until))
    ranked = Period.read(since, until, long_seconds=RANKED_SECONDS)
    ranking = await run(rank_endpoints, history, ranked, limit=MAX_LISTED)
    failed: Sequence[Mapping[str, Any]] = ()
    if traffic.total.failures:
        failed = await run(find, history, limit=1, status=FAILED, since=float(traffic.since))
    releases = [
        ChartRelease(item.at.timestamp(), item.subject or item.revision.rpartition(":")[2][:12])
        for item in publications
        if item.outcome == "live"
    ]
    charts = draw_charts(traffic, releases)
    return RequestOverview(charts, traffic.total, ranking, failed[0] if failed else None)


async def _list_proposals(visit: Visit, name: str) -> Sequence[Proposal]:
    """Return the open proposals; none if the repository is hosted elsewhere."""
    try:
        return await VisitedProposals(visit, name).list_all("open")
    except HTTPException:
        return ()


async def _list_jobs(visit: Visit, name: str) -> JobList | None:
    if not visit.may(Permission.READ_JOBS, name):
        return None
    try:
        async with asyncio.timeout(_JOBS_SECONDS):
            answer = await VisitedProject.open(visit, name).ask(ListJobs, "dead", MAX_LISTED)
    except (HTTPException, TimeoutError):
        return None
    tasks = sorted(answer.tasks, key=lambda task: task.next_at)
    return JobList(answer.jobs, answer.counts, tasks[:MAX_LISTED])
