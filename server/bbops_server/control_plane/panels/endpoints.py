"""The endpoints of a project, by channel, and the page of each one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any, Final

from litestar import Response
from litestar.params import FromPath, FromQuery

from bbops.review.outline.outline import EndpointOutline, Outline
from bbops.runtime.agents.values import AGENTS
from bbops.source.git.proposals import proposal_of
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.panels.endpoint_editing import COMMITTED
from bbops_server.control_plane.projects.endpoint_changes import is_of_table
from bbops_server.control_plane.web.frame import Panel
from bbops_server.control_plane.web.outline_page import OutlinePage, PageNumber, Search, TabName
from bbops_server.control_plane.web.routes import page
from bbops_server.control_plane.web.visit import Here
from bbops_server.data_plane.live.history import find

MAX_REQUESTS: Final = 20
REQUEST_AGE: Final = timedelta(days=1)
"""Older requests are not read: a rarely called endpoint would read the whole history."""


@page("/projects/{name:str}/endpoints", Permission.READ_PROJECT)
async def show_endpoints(
    visit: Here,
    name: FromPath[str],
    words: Search = "",
    number: PageNumber = 1,
    done: FromQuery[str] = "",
) -> Response[Any]:
    """Show the endpoints of a project by channel."""
    shown = await OutlinePage.open(visit, name)
    if shown.outline is None:
        return shown.show_errors("Endpoints")
    rows = sorted(shown.outline.endpoints, key=lambda row: (row.channel, row.path, row.method))
    listed = shown.list_rows("endpoints", rows, words, number, _search_text)
    groups = [(key, [*rows]) for key, rows in groupby(listed.rows, key=lambda row: row.channel)]
    channels = {channel.name: channel for channel in shown.outline.channels}
    return shown.show(
        "endpoints", listed=listed, groups=groups, channels=channels,
        branch=_find_branch(shown) if done == COMMITTED else "",
    )  # fmt: skip


@page("/projects/{name:str}/endpoints/{endpoint:path}", Permission.READ_PROJECT)
async def show_endpoint(
    visit: Here,
    name: FromPath[str],
    endpoint: FromPath[str],
    tab: TabName = "",
    done: FromQuery[str] = "",
) -> Response[Any]:
    """Show an endpoint: its definition, function, requests, tests or YAML."""
    shown = await OutlinePage.open(visit, name)
    outline = shown.outline
    if outline is None:
        return shown.show_errors("Endpoint")
    found = shown.pick(endpoint, outline.endpoints)
    if found is None:
        for agent in outline.agents:
            if endpoint.strip("/") == f"{AGENTS}{agent.name}":  # requests to it have this name
                return visit.go(shown.links.to("agents", agent=agent.name))
        return shown.show_missing("endpoint", endpoint, outline.endpoints, shown.links.endpoint)
    functions = {function.name: function for function in outline.functions}
    function = functions[found.function]
    tabs = [*_tabs(shown, outline, found, len(function.steps))]
    current = tab if any(tab == key for key, _, _ in tabs) else "definition"
    return shown.show(
        "endpoint",
        endpoint=found,
        tab=current,
        function=function,
        tabs=[
            ("Playground", shown.links.playground(found.name), False, ""),
            *(
                (title, shown.links.endpoint(found.name, key), key == current, count)
                for key, title, count in tabs
            ),
        ],
        tests=[test for test in outline.tests if test.name in found.tests],
        requests=await _find_requests(shown, found) if current == "requests" else (),
        source=await shown.read(found.file) if current == "yaml" else None,
        may_change=visit.may(Permission.PUSH_DRAFT, name),
        is_of_table=is_of_table(found),
        proposal=proposal_of(_find_branch(shown)),
        branch=_find_branch(shown) if done == COMMITTED else "",
    )


def _find_branch(shown: OutlinePage) -> str:
    """Return the branch of the shown draft; empty for live."""
    if not shown.draft:
        return ""
    draft = shown.visit.control.outlines.drafts_of(shown.project).find(shown.draft)
    return draft.branch if draft is not None else ""


def _tabs(
    shown: OutlinePage, outline: Outline, endpoint: EndpointOutline, steps: int
) -> Sequence[tuple[str, str, int | str]]:
    """Return key, title and number of each tab that the caller may open."""
    cases = sum(len(test.cases) for test in outline.tests if test.name in endpoint.tests)
    tabs: list[tuple[str, str, int | str]] = [
        ("definition", "Definition", ""), ("function", "Function", steps),
        ("requests", "Requests", ""), ("tests", "Tests", cases), ("yaml", "YAML", ""),
    ]  # fmt: skip
    may_read = shown.visit.may(Permission.READ_REQUESTS, shown.project)
    return [tab for tab in tabs if may_read or tab[0] != "requests"]


async def _find_requests(shown: OutlinePage, endpoint: EndpointOutline) -> list[dict[str, Any]]:
    """Return the newest requests of the last day, newest first."""
    control, draft = shown.visit.control, shown.draft
    drafts = control.outlines.drafts_of(shown.project)
    history = drafts.history(draft) if draft else control.status.history(shown.project)
    if history is None:
        return []
    since = (datetime.now(UTC) - REQUEST_AGE).timestamp()  # noqa: TID251 - the server's own clock
    found = await control.run(
        find, history, limit=MAX_REQUESTS, since=since, endpoint=endpoint.name
    )  # fmt: skip
    return [{**request, "at": datetime.fromisoformat(request["at"])} for request in reversed(found)]


def _search_text(endpoint: EndpointOutline) -> str:
    route = f"{endpoint.method} {endpoint.path} {endpoint.authentication}"
    return f"{route} {endpoint.name} {endpoint.channel} {endpoint.function} {endpoint.description}"


PANEL = Panel(
    "Build", 10, "Endpoints", "route", "/endpoints", count="endpoints", in_drafts=True,
    actions=(("Change an endpoint", Permission.PUSH_DRAFT),),
)  # fmt: skip
ROUTES = (show_endpoints, show_endpoint)
