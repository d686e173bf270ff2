"""The page of realtime topics, with the connections to the live release."""

from __future__ import annotations

from typing import Any

from litestar import Response
from litestar.params import FromPath

from bbops.base.errors import BbopsError
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.web.frame import Panel
from bbops_server.control_plane.web.outline_page import OutlinePage
from bbops_server.control_plane.web.routes import page
from bbops_server.control_plane.web.visit import Here, Visit


@page("/projects/{name:str}/realtime", Permission.READ_PROJECT)
async def show_topics(visit: Here, name: FromPath[str]) -> Response[Any]:
    """Show the topics of a project, and how many clients are connected."""
    shown = await OutlinePage.open(visit, name)
    if shown.outline is None:
        return shown.show_errors("Realtime")
    counts = {} if shown.draft else await _count(visit, name)
    return shown.show("realtime", counts=counts)


async def _count(visit: Visit, name: str) -> dict[str, int]:
    """Return the connections and dropped messages of a project; empty if a process is busy."""
    try:
        samples = await visit.control.status.metrics()
    except BbopsError:
        return {}
    found = {"realtime_connections": 0, "realtime_dropped_total": 0}
    for sample in samples:
        if sample.project == name and sample.name in found:
            found[sample.name] += int(sample.value)
    return found


PANEL = Panel("Run", 50, "Realtime", "live", "/realtime", count="topics", in_drafts=True)
ROUTES = (show_topics,)
