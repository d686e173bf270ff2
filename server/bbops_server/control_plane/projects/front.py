"""The control plane's front page: each project, where it answers, how far it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from litestar import MediaType, Response
from litestar.response import Template

from bbops.base.json_diagnostics import JsonDiagnostic
from bbops.base.render import render
from bbops.interfaces.answers import ProjectCondition, Publication, ServerStatus, Status
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.web.routes import page
from bbops_server.control_plane.web.visit import Here

State = Literal["live", "working", "starting", "stalled", "suspended"]
_QUIET: Final = {"Ready", "Reconciling"}
_KEPT: Final = {"cache-control": "public, max-age=300"}


@page("/", Permission.KNOW_ONESELF)
async def show_front(visit: Here) -> Response[Any]:
    """Show the projects that whoever asks may see: to browsers a page, else text."""
    status = visit.control.status
    server = status.server() if visit.may(Permission.READ_SERVER) else ServerStatus()
    projects = [one for one in status.projects() if visit.may(Permission.READ_PROJECT, one.name)]
    if "text/html" not in visit.request.headers.get("accept", ""):
        return Response(render_text(server, projects), media_type=MediaType.TEXT)
    told = [_line(one) for one in projects]
    setup_url = "" if await visit.control.is_set_up() else visit.control.setup_url
    return visit.page("front", server="".join(_server(server)), projects=told, setup_url=setup_url)


@page("/style.css", Permission.BE_ANYBODY)
async def show_style() -> Template:
    """Send the one stylesheet."""
    return Template("style.css", media_type="text/css", headers=_KEPT)


@page("/icon.svg", Permission.BE_ANYBODY)
async def show_icon() -> Template:
    """Send what stands before the name."""
    return Template("icon.svg", media_type="image/svg+xml", headers=_KEPT)


def find_state(status: Status) -> State:
    """Return in a word how a project is."""
    holds = {one.type: one for one in status.conditions if one.status}
    if "Stalled" in holds:
        return "suspended" if holds["Stalled"].reason == "Suspended" else "stalled"
    if "Ready" in holds:
        return "live"
    return "working" if "Reconciling" in holds else "starting"


@dataclass(frozen=True, slots=True)
class Line:
    """What the page says of a project: `told` are conditions worth a line, `newest` went live."""

    status: Status
    state: State
    newest: Publication | None
    told: Sequence[ProjectCondition]
    wrong: str

    @property
    def name(self) -> str:
        """The project's."""
        return self.status.name


def _line(status: Status) -> Line:
    live = (one for one in reversed(status.publications) if one.outcome == "live")
    told = [one for one in status.conditions if one.status and one.type not in _QUIET]
    wrong = render([one.diagnostic() for one in status.diagnostics], "text")
    return Line(status, find_state(status), next(live, None), told, wrong)


def render_text(server: ServerStatus, projects: Sequence[Status]) -> str:
    """Return the page as plain text."""
    parts = [*_server(server), *(render_project(one) for one in projects)]
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
    told = (one for one in status.conditions if one.status or one.type == "Ready")
    lines += map(_condition, told)
    lines += map(_diagnostic, status.diagnostics)
    return "\n".join(lines) + "\n"


def _condition(one: ProjectCondition) -> str:
    told = f"{one.reason}: {one.message}" if one.message else one.reason
    return f"  {one.type:<12} {'yes' if one.status else 'no':<3} {told}"


def _server(server: ServerStatus) -> Iterator[str]:
    """Yield what is to be said of the server itself; nothing where all is well."""
    if server.diagnostics:
        yield "\n".join([f"{server.file}", *map(_diagnostic, server.diagnostics)]) + "\n"


def _diagnostic(found: JsonDiagnostic) -> str:
    return f"  {found.line_of_text()}"


ROUTES = (show_front, show_style, show_icon)
