"""The overview of a project: its state, requests, publications, versions and rollbacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import Annotated, Any, Final

from litestar import Response
from litestar.exceptions import NotFoundException
from litestar.params import FromPath, QueryParameter

from bbops.base.errors import BbopsError
from bbops.interfaces.answers import Publication
from bbops_server.accounts.rules import Permission
from bbops_server.accounts.text_rules import AccountError
from bbops_server.control_plane.projects.front import find_state
from bbops_server.control_plane.projects.overview import RANGES, find_range, read_overview
from bbops_server.control_plane.projects.versions import (
    RollbackRequest,
    find_versions,
    propose_rollback,
)
from bbops_server.control_plane.web.charts import show_milliseconds
from bbops_server.control_plane.web.frame import Panel
from bbops_server.control_plane.web.outline_page import OutlineLinks
from bbops_server.control_plane.web.routes import form, page
from bbops_server.control_plane.web.visit import Here
from bbops_server.publish.projects.versions import ProjectVersions

MAX_SHOWN: Final = 20
MAX_MARKED: Final = 200
"""Publications among which are the releases on the charts."""


@page("/projects/{name:str}", Permission.READ_PROJECT)
async def show_project(
    visit: Here, name: FromPath[str],
    chosen: Annotated[str, QueryParameter(name="range", max_length=20)] = "",
) -> Response[Any]:  # fmt: skip
    """Show a project: what needs attention, its requests, newest publications and versions."""
    history = find_versions(visit, name)
    status = visit.control.project(name)
    if status is None:
        raise NotFoundException(f"there is no project '{name}'")
    known, shown = find_range(chosen), find_range(chosen) or RANGES[0]
    error = None if known else AccountError(
        f"range '{chosen}' is not one of {', '.join(each.name for each in RANGES)}"
    )  # fmt: skip
    newest = await visit.control.run(history.publications, MAX_MARKED)
    return visit.page(
        "overview", 200 if known else 400, project=name, status=status, state=find_state(status),
        publications=_merge_repeats(newest[-MAX_SHOWN:])[::-1], versions=await _list(history),
        overview=await read_overview(visit, name, shown, newest), ranges=RANGES, shown=shown,
        error=error, link=OutlineLinks(name), moment=_from_seconds,
        show_milliseconds=show_milliseconds,
    )  # fmt: skip


@form("/projects/{name:str}/rollback", Permission.PROPOSE)
async def propose_by_page(visit: Here, name: FromPath[str]) -> Response[Any]:
    """Propose a rollback to a version, and show the proposal."""
    made = await propose_rollback(visit, name, RollbackRequest(await visit.field("version")))
    return visit.go(f"/projects/{name}/proposals/{made.proposal}")


def _from_seconds(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _merge_repeats(publications: Sequence[Publication]) -> list[Publication]:
    """Leave out repeated publications of a commit, such as after a change of the environment."""
    runs = groupby(publications, key=lambda each: (each.revision, each.outcome, each.message))
    return [next(run) for _, run in runs]


async def _list(history: ProjectVersions) -> Sequence[tuple[Mapping[str, Any], datetime]]:
    """Return the newest versions, each with its time; empty if the repository cannot be read."""
    try:
        versions = await history.tags()
    except BbopsError:
        return []
    newest = versions[:MAX_SHOWN]
    return [(each, datetime.fromisoformat(each["at"]).astimezone(UTC)) for each in newest]


PANEL = Panel("", 10, "Overview", "home", "")
ROUTES = (show_project, propose_by_page)
