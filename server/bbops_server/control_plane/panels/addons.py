"""The addons of a project: their state, the steps in use, and what is missing."""

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


@page("/projects/{name:str}/addons", Permission.READ_PROJECT)
async def show_addons(visit: Here, name: FromPath[str]) -> Response[Any]:
    """Show the addons of a project."""
    shown = await OutlinePage.open(visit, name)
    if shown.outline is None:
        return shown.show_errors("Addons")
    variables = await find_variables(visit, name, shown.draft, shown.outline)
    unset = {variable.name for variable in variables if variable.state == "missing"}
    return shown.show("addons", unset=unset)


PANEL = Panel("Build", 50, "Addons", "plug", "/addons", count="addons", in_drafts=True)
ROUTES = (show_addons,)
