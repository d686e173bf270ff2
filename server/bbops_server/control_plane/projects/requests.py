"""Requests of a project or draft: the newest ones, one with its neighbours, and their counts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec
from litestar.exceptions import NotFoundException
from litestar.params import FromPath, QueryParameter

from bbops.base.errors import ServerError
from bbops.base.json_traffic import EndpointRanking, Traffic
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.projects.visited_project import DRAFT, PROJECT
from bbops_server.control_plane.web.refusals import refuse
from bbops_server.control_plane.web.routes import read
from bbops_server.control_plane.web.visit import Here, Visit
from bbops_server.data_plane.live.history import FAILED, find, find_neighbours, read_request
from bbops_server.data_plane.live.traffic import (
    RANKED_SECONDS,
    Period,
    rank_endpoints,
    read_traffic,
)

STATUS_PATTERN = f"^([1-5]([0-9]{{2}}|xx)|{FAILED})$"
MAX_TEXT = 200

Limit = Annotated[int, QueryParameter(ge=1, le=1_000)]
Id = Annotated[int, QueryParameter(ge=0, lt=1 << 53)]
StatusFilter = Annotated[str | None, QueryParameter(name="status", pattern=STATUS_PATTERN)]
Text = Annotated[str | None, QueryParameter(max_length=MAX_TEXT)]
Seconds = Annotated[float | None, QueryParameter(ge=0, le=1e11)]
Step = Annotated[int, QueryParameter(ge=0, le=35_000_000)]


class RecordedRequest(msgspec.Struct, frozen=True):
    """A request, and the ids of the requests to the same endpoint before and after it.

    `request` has `exchange` with query, headers, input and output if the endpoint records them.
    """

    request: dict[str, Any]
    before: int | None
    after: int | None


@read(f"{PROJECT}/requests", Permission.READ_REQUESTS)
async def list_requests(
    visit: Here, name: FromPath[str], status_filter: StatusFilter = None, method: Text = None,
    path: Text = None, endpoint: Text = None, text: Text = None,
    slower_than: Annotated[float | None, QueryParameter()] = None,
    since: Seconds = None, until: Seconds = None, limit: Limit = 50, after: Id = 0, before: Id = 0,
    *, details: Annotated[bool, QueryParameter()] = False,
) -> list[dict[str, Any]]:  # fmt: skip
    """The newest requests of a project, newest last; `after` is the last known id.

    `before` is the id of the oldest known request. `since` and `until` are seconds since 1970;
    `details` adds headers and bodies, for endpoints that record them.
    """
    filters = {
        "status": status_filter, "method": method, "path": path, "endpoint": endpoint,
        "text": text, "slower_than": slower_than, "until": until,
    }  # fmt: skip
    return await visit.control.run(
        find, find_history(visit, name), limit=limit, after=after, before=before,
        since=since or 0.0, details=details, **filters,
    )  # fmt: skip


@read(f"{DRAFT}/requests", Permission.READ_REQUESTS)
async def list_draft_requests(
    visit: Here, name: FromPath[str], slug: FromPath[str], status_filter: StatusFilter = None,
    endpoint: Text = None, text: Text = None, since: Seconds = None, limit: Limit = 50,
    after: Id = 0, before: Id = 0, *, details: Annotated[bool, QueryParameter()] = False,
) -> list[dict[str, Any]]:  # fmt: skip
    """The newest requests of a draft, as `GET /api/projects/{name}/requests`."""
    return await visit.control.run(
        find, find_history(visit, name, slug), limit=limit, after=after, before=before,
        since=since or 0.0, details=details, status=status_filter, endpoint=endpoint, text=text,
    )  # fmt: skip


@read(f"{PROJECT}/requests/{{number:int}}", Permission.READ_REQUESTS)
async def show_request(visit: Here, name: FromPath[str], number: FromPath[int]) -> RecordedRequest:
    """One request with its headers and bodies, if the endpoint records them."""
    return await find_request(visit, name, number)


@read(f"{DRAFT}/requests/{{number:int}}", Permission.READ_REQUESTS)
async def show_draft_request(
    visit: Here, name: FromPath[str], slug: FromPath[str], number: FromPath[int]
) -> RecordedRequest:
    """One request of a draft, as `GET /api/projects/{name}/requests/{number}`."""
    return await find_request(visit, name, number, slug)


@read(f"{PROJECT}/minutes", Permission.READ_REQUESTS)
async def list_minutes(
    visit: Here, name: FromPath[str], since: Seconds = None, until: Seconds = None,
    endpoint: Text = None, step: Step = 0,
) -> Traffic:  # fmt: skip
    """Requests over time: counts by status class, and percentiles of their milliseconds.

    `since` and `until` are seconds since 1970, by default the last hour. `step` is the length of a
    point in seconds, by default for about 100 points; 300 are the most. An empty `endpoint` is for
    requests that no endpoint answered. Periods over two days are read from hours.
    """
    history = find_history(visit, name)
    try:
        period = Period.read(since, until)
        return await visit.control.run(
            read_traffic, history, period, endpoint=endpoint, step_seconds=step
        )
    except ServerError as error:
        raise refuse(error, 400) from None


@read(f"{PROJECT}/slowest", Permission.READ_REQUESTS)
async def list_slowest(
    visit: Here, name: FromPath[str], since: Seconds = None, until: Seconds = None,
    limit: Limit = 20,
) -> EndpointRanking:  # fmt: skip
    """Endpoints by their 95th percentile, and those that failed by how often.

    `since` and `until` are as in `/minutes`; periods over six hours begin at a full hour.
    """
    history = find_history(visit, name)
    try:
        period = Period.read(since, until, long_seconds=RANKED_SECONDS)
    except ServerError as error:
        raise refuse(error, 400) from None
    return await visit.control.run(rank_endpoints, history, period, limit=limit)


def find_history(visit: Visit, name: str, slug: str = "") -> Path:
    """Return the history of a project, or of a draft by slug or branch.

    Raises:
        NotFoundException: the project or the draft does not exist.
    """
    history, drafts = visit.control.status.history(name), visit.control.status.drafts(name)
    if history is None or drafts is None:
        raise NotFoundException(f"there is no project '{name}'")
    if not slug:
        return history
    draft = drafts.find(slug)
    if draft is None:
        raise NotFoundException(f"project '{name}' has no draft '{slug}'")
    return drafts.history(draft.slug)


async def find_request(visit: Visit, name: str, number: int, slug: str = "") -> RecordedRequest:
    """Return a request. Raises: NotFoundException: the history does not have it."""
    history, run = find_history(visit, name, slug), visit.control.run
    request = await run(read_request, history, number) if 0 < number < 1 << 62 else None
    if request is None:
        text = f"there is no request {number}: the history keeps 14 days, and at most a million"
        raise NotFoundException(f"{text} requests")
    neighbours = await run(find_neighbours, history, number, request["endpoint"])
    return RecordedRequest(request, neighbours.before, neighbours.after)


ROUTES = (
    list_requests, list_draft_requests, show_request, show_draft_request, list_minutes,
    list_slowest,
)  # fmt: skip
