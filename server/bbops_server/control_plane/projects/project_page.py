"""The page of a project: its live release, publications, versions and rollbacks."""

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
from bbops_server.control_plane.projects.versions import (
    RollbackRequest,
    find_versions,
    propose_rollback,
)
from bbops_server.control_plane.web.panels import Panel
from bbops_server.control_plane.web.routes import form, page
from bbops_server.control_plane.web.visit import Here
from bbops_server.publish.projects.protocols import VersionSource

MAX_SHOWN: Final = 20


@page("/projects/{name:str}", Permission.READ_PROJECT)
async def show_project(visit: Here, name: FromPath[str]) -> Response[Any]:
    """Show a project, its newest publications and versions."""
    history = find_versions(visit, name)
    status = next((each for each in visit.control.status.projects() if each.name == name), None)
    if status is None:
        raise NotFoundException(f"there is no project '{name}'")
    publications = _merge_repeats(await visit.control.run(history.publications, MAX_SHOWN))
    wrong = render([diagnostic.diagnostic() for diagnostic in status.diagnostics], "text")
    return visit.page(
        "overview", project=name, status=status, state=find_state(status),
        publications=publications[::-1], wrong=wrong, versions=await _list(history),
    )  # fmt: skip


@form("/projects/{name:str}/rollback", Permission.PROPOSE)
async def propose_by_page(visit: Here, name: FromPath[str]) -> Response[Any]:
    """Propose a rollback to a version, and show the proposal."""
    made = await propose_rollback(visit, name, RollbackRequest(await visit.field("version")))
    return visit.go(f"/projects/{name}/proposals/{made.proposal}")


def _merge_repeats(publications: Sequence[Publication]) -> list[Publication]:
    """Leave out repeated publications of a commit, such as after a change of the environment."""
    runs = groupby(publications, key=lambda each: (each.revision, each.outcome, each.message))
    return [next(run) for _, run in runs]


async def _list(history: VersionSource) -> Sequence[tuple[Mapping[str, Any], datetime]]:
    """Return the newest versions, each with its time; empty if the repository cannot be read."""
    try:
        versions = await history.tags()
    except BbopsError:
        return []
    newest = versions[:MAX_SHOWN]
    return [(each, datetime.fromisoformat(each["at"]).astimezone(UTC)) for each in newest]


PANEL = Panel("", 10, "Overview", "home", "")
ROUTES = (show_project, propose_by_page)
