"""The front page: each project with its state and its newest publication."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal

from litestar import MediaType, Response
from litestar.response import Template

from bbops.base.json_diagnostics import JsonDiagnostic
from bbops.base.render import render
from bbops.interfaces.answers import ProjectCondition, Publication, ServerStatus, Status
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.web.islands import BuiltFile
from bbops_server.control_plane.web.routes import page
from bbops_server.control_plane.web.visit import Here

State = Literal["live", "working", "starting", "stalled", "suspended"]
_ORDINARY_CONDITIONS: Final = {"Ready", "Reconciling"}
_CACHED: Final = {"cache-control": "public, max-age=300"}


@page("/", Permission.KNOW_ONESELF)
async def show_front(visit: Here) -> Response[Any]:
    """Show the projects that the caller may read: a page for browsers, otherwise text."""
    status = visit.control.status
    server = status.server() if visit.may(Permission.READ_SERVER) else ServerStatus()
    projects = [each for each in status.projects() if visit.may(Permission.READ_PROJECT, each.name)]
    if "text/html" not in visit.request.headers.get("accept", ""):
        return Response(render_text(server, projects), media_type=MediaType.TEXT)
    rows = list(map(_create_row, projects))
    setup_url = "" if await visit.control.is_set_up() else visit.control.setup_url
    return visit.page("front", server="".join(_server(server)), projects=rows, setup_url=setup_url)


@page("/parts", Permission.KNOW_ONESELF)
async def show_parts(visit: Here) -> Response[Any]:
    """Show every part of the pages in both themes, for their authors."""
    return visit.page("parts_page")


@page("/style.css", Permission.BE_ANYBODY)
async def show_style(visit: Here) -> Response[bytes]:
    """Send the stylesheet, compressed where the browser accepts it."""
    return _send(visit, "style.css", "text/css")


@page("/icons.svg", Permission.BE_ANYBODY)
async def show_icons(visit: Here) -> Response[bytes]:
    """Send the symbols of the pages, compressed where the browser accepts it."""
    return _send(visit, "icons.svg", "image/svg+xml")


@page("/icon.svg", Permission.BE_ANYBODY)
async def show_icon() -> Template:
    """Send the icon."""
    return Template("icon.svg", media_type="image/svg+xml", headers=_CACHED)


def _send(visit: Here, name: str, media_type: str) -> Response[bytes]:
    engine = visit.request.app.template_engine
    assert engine is not None  # noqa: S101 - the application has one
    text = engine.get_template(name).render()
    file = BuiltFile(media_type, {"gzip": _compress(text)})
    coding, content = file.encode(visit.request.headers.get("accept-encoding", ""))
    headers = {**_CACHED, "vary": "accept-encoding"}
    if coding != "identity":
        headers["content-encoding"] = coding
    return Response(content, media_type=media_type, headers=headers)


@lru_cache(maxsize=4)
def _compress(text: str) -> bytes:
    return gzip.compress(text.encode(), 9)


def find_state(status: Status) -> State:
    """Return the state of a project in one word."""
    reasons = {each.type: each.reason for each in status.conditions if each.status}
    if "Stalled" in reasons:
        return "suspended" if reasons["Stalled"] == "Suspended" else "stalled"
    if "Ready" in reasons:
        return "live"
    return "working" if "Reconciling" in reasons else "starting"


@dataclass(frozen=True, slots=True)
class ProjectRow:
    """A project on the front page.

    Attributes:
        newest: its newest live publication.
        conditions: conditions to show; not Ready and Reconciling.
        diagnostics: its diagnostics as text.
    """

    status: Status
    state: State
    newest: Publication | None
    conditions: Sequence[ProjectCondition]
    diagnostics: str

    @property
    def name(self) -> str:
        """The name of the project."""
        return self.status.name


def _create_row(status: Status) -> ProjectRow:
    live = (each for each in reversed(status.publications) if each.outcome == "live")
    conditions = [
        condition for condition in status.conditions
        if condition.status and condition.type not in _ORDINARY_CONDITIONS
    ]  # fmt: skip
    text = render([each.diagnostic() for each in status.diagnostics], "text")
    return ProjectRow(status, find_state(status), next(live, None), conditions, text)


def render_text(server: ServerStatus, projects: Sequence[Status]) -> str:
    """Return the page as plain text."""
    parts = [*_server(server), *map(render_project, projects)]
    return "\n".join(parts) or "no project yet\n"


def render_project(status: Status) -> str:
    """Return one project as plain text."""
    lines = [
        f"{status.name}  {status.url}",
        f"  branch   {status.branch}",
        f"  live     {status.applied_revision or 'nothing yet'}",
    ]
    if status.attempted_revision != status.applied_revision and not status.is_ready:
        lines.append(f"  tried    {status.attempted_revision}  {status.attempted_subject}".rstrip())
    shown = (each for each in status.conditions if each.status or each.type == "Ready")
    lines += map(_condition, shown)
    lines += map(_diagnostic, status.diagnostics)
    return "\n".join(lines) + "\n"


def _condition(condition: ProjectCondition) -> str:
    reason, message = condition.reason, condition.message
    text = f"{reason}: {message}" if message else reason
    return f"  {condition.type:<12} {'yes' if condition.status else 'no':<3} {text}"


def _server(server: ServerStatus) -> Iterator[str]:
    """Yield the diagnostics of the server's file, if it has any."""
    if server.diagnostics:
        yield "\n".join([f"{server.file}", *map(_diagnostic, server.diagnostics)]) + "\n"


def _diagnostic(diagnostic: JsonDiagnostic) -> str:
    return f"  {diagnostic.line_of_text()}"


ROUTES = (show_front, show_style, show_icon, show_icons, show_parts)
