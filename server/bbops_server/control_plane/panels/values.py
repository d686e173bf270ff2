"""The variables of a project, and whether each has a value. Values are never shown."""

from __future__ import annotations

from typing import Any

from litestar import Response
from litestar.params import FromPath

from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.web.frame import Panel
from bbops_server.control_plane.web.outline_page import OutlinePage
from bbops_server.control_plane.web.routes import page
from bbops_server.control_plane.web.variables import find_variables
from bbops_server.control_plane.web.visit import Here


@page("/projects/{name:str}/values", Permission.READ_PROJECT)
async def show_values(visit: Here, name: FromPath[str]) -> Response[Any]:
    """Show the declared variables, their states and uses, and what the newest commit lacks."""
    shown = await OutlinePage.open(visit, name)
    if shown.outline is None:
        return shown.show_errors("Values")
    variables = await find_variables(visit, name, shown.draft, shown.outline)
    missing = [variable for variable in variables if variable.state == "missing"]
    status = None if shown.draft else visit.control.project(name)
    stalled = status.find("Stalled") if status is not None else None
    unset = stalled.message if stalled is not None and stalled.reason == "EnvMissing" else ""
    return shown.show("values", variables=variables, missing=missing, unset=unset)


PANEL = Panel("Build", 60, "Values", "key", "/values", count="variables", in_drafts=True)
ROUTES = (show_values,)
