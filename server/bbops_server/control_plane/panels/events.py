"""The page of events: the log of a project, and the replay of a trigger."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Final

from litestar import Response
from litestar.exceptions import ClientException
from litestar.params import FromPath, QueryParameter

from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.projects.events import ReplayRequest, replay
from bbops_server.control_plane.projects.visited_project import VisitedProject
from bbops_server.control_plane.web.frame import Panel
from bbops_server.control_plane.web.outline_page import OutlineLinks
from bbops_server.control_plane.web.routes import form, page, require_permission
from bbops_server.control_plane.web.visit import Here
from bbops_server.process.messages.events import ListEvents

MAX_SHOWN: Final = 100
PERIODS: Final = {"1h": 3_600, "24h": 86_400, "7d": 7 * 86_400}
"""Periods of a replay, in seconds; the log keeps 7 days."""


@page("/projects/{name:str}/events", Permission.READ_JOBS)
async def show_events(
    visit: Here, name: FromPath[str], event: Annotated[str, QueryParameter(max_length=200)] = "",
    replayed: Annotated[int | None, QueryParameter()] = None,
    counted: Annotated[int | None, QueryParameter()] = None,
) -> Response[Any]:  # fmt: skip
    """Show logged events, newest first."""
    project = VisitedProject.open_target(visit, name)
    events = (await project.ask(ListEvents, event, MAX_SHOWN)).events
    needed = Permission.MANAGE_JOBS if project.is_live else Permission.RUN_DRAFT_JOBS
    return visit.page(
        "events", project=name, events=events, event=event, may_replay=visit.may(needed, name),
        replayed=replayed, counted=counted, target=project.draft, periods=PERIODS,
        most=MAX_SHOWN,
    )  # fmt: skip


@form("/projects/{name:str}/events/replay", Permission.RUN_DRAFT_JOBS)
async def replay_by_page(visit: Here, name: FromPath[str]) -> Response[Any]:
    """Run a trigger again for the events of a period, or count them."""
    trigger, period = await visit.field("trigger"), await visit.field("period")
    if not trigger or period not in PERIODS:
        raise ClientException("a trigger and a period are required")
    project = VisitedProject.open_target(visit, name)
    if project.is_live:
        await require_permission(visit, Permission.MANAGE_JOBS, name)
    only_counts = await visit.field("action") == "count"
    now = datetime.now(UTC).timestamp()  # noqa: TID251 - the server's own clock
    request = ReplayRequest(trigger[:200], now - PERIODS[period], only_counts)
    done = await replay(project, request)
    key = "counted" if only_counts else "replayed"
    return visit.go(OutlineLinks(name, project.draft).to("events", **{key: str(done.count)}))


PANEL = Panel(
    "Run", 40, "Events", "log", "/events", Permission.READ_JOBS, in_drafts=True,
    actions=(("Replay an event", Permission.RUN_DRAFT_JOBS),),
)  # fmt: skip
ROUTES = (show_events, replay_by_page)
