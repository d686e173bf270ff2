"""The page of the frontend: the live build, its sizes, and the builds before it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

from litestar import Response
from litestar.params import FromPath

from bbops.base.errors import BbopsError
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.projects.frontends import find_frontends
from bbops_server.control_plane.web.frame import Panel
from bbops_server.control_plane.web.routes import page
from bbops_server.control_plane.web.visit import Here

MAX_SHOWN: Final = 50
MAX_FILES: Final = 200


@page("/projects/{name:str}/frontend", Permission.READ_PROJECT)
async def show_frontend(visit: Here, name: FromPath[str]) -> Response[Any]:
    """Show the live files with their sizes, the largest first, and earlier builds."""
    frontends = find_frontends(visit, name)
    live = await frontends.live()
    try:
        builds = (await frontends.list())[:MAX_SHOWN]
    except BbopsError:  # a project that is served from a folder has no builds
        builds = []
    files = sorted(live.files, key=lambda file: -file.size_bytes) if live else []
    status = visit.control.project(name)
    return visit.page(
        "frontend", project=name, live=live, files=files[:MAX_FILES], left=len(files) - MAX_FILES,
        size=sum(file.size_bytes for file in files), url=status.url if status else "",
        packed=sum(file.packed_bytes or file.size_bytes for file in files),
        builds=[
            {**build, "moment": datetime.fromisoformat(build["at"]).astimezone(UTC)}
            for build in builds
        ],
    )  # fmt: skip


PANEL = Panel("Build", 80, "Frontend", "globe", "/frontend")
ROUTES = (show_frontend,)
