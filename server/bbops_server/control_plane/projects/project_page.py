"""The page of a project: what is live, what went live before, and rollbacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, Final

from litestar import Response
from litestar.exceptions import NotFoundException
from litestar.params import FromPath

from bbops.base.errors import BbopsError
from bbops.base.render import render
from bbops.interfaces.answers import Publication
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.projects.front import find_state
from bbops_server.control_plane.projects.versions import WayBack, find_versions, propose_going_back
from bbops_server.control_plane.web.routes import Tab, form, page
from bbops_server.control_plane.web.visit import Here
from bbops_server.publish.projects.protocols import VersionSource

MOST_SHOWN: Final = 20


@page("/projects/{name:str}", Permission.READ_PROJECT)
async def show_project(visit: Here, name: FromPath[str]) -> Response[Any]:
    """Show a project, its newest publications and versions."""
    history = find_versions(visit, name)
    status = next((one for one in visit.control.status.projects() if one.name == name), None)
    if status is None:
        raise NotFoundException(f"there is no project '{name}'")
    tried = _once_each(await visit.control.ask(history.publications, MOST_SHOWN))
    wrong = render([one.diagnostic() for one in status.diagnostics], "text")
    return visit.page(
        "project", project=name, status=status, state=find_state(status), tried=tried[::-1],
        wrong=wrong, versions=await _list(history),
    )  # fmt: skip


@form("/projects/{name:str}/rollback", Permission.PROPOSE)
async def propose_by_page(visit: Here, name: FromPath[str]) -> Response[Any]:
    """Propose to roll back to a version, and show that."""
    made = await propose_going_back(visit, name, WayBack(await visit.field("version")))
    return visit.go(f"/projects/{name}/proposals/{made.proposal}")


def _once_each(tried: Sequence[Publication]) -> list[Publication]:
    """Leave out what only went live again, as after a change of the environment."""
    runs = groupby(tried, key=lambda one: (one.revision, one.outcome, one.message))
    return [next(same) for _, same in runs]


async def _list(history: VersionSource) -> Sequence[tuple[Mapping[str, Any], datetime]]:
    """Return the newest versions, each with its time; none where the repository cannot be read."""
    try:
        found = await history.tags()
    except BbopsError:
        return []
    newest = found[:MOST_SHOWN]
    return [(one, datetime.fromisoformat(one["at"]).astimezone(UTC)) for one in newest]


TAB = Tab(10, "Overview", "")
ROUTES = (show_project, propose_by_page)
