"""The text of a project's file, with a link to each line."""

from __future__ import annotations

from typing import Any

from litestar import Response
from litestar.exceptions import NotFoundException
from litestar.params import FromPath

from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.web.outline_page import OutlinePage
from bbops_server.control_plane.web.routes import page
from bbops_server.control_plane.web.visit import Here


@page("/projects/{name:str}/files/{file:path}", Permission.READ_PROJECT)
async def show_file(visit: Here, name: FromPath[str], file: FromPath[str]) -> Response[Any]:
    """Show a file of a resource, as the commit has it."""
    shown = await OutlinePage.open(visit, name)
    if shown.outline is None:
        return shown.show_errors("File")
    path = file.strip("/")
    source = await shown.read(path)
    if source is None:
        raise NotFoundException(f"no resource of project '{name}' is in a file '{path[:200]}'")
    return shown.show("file", file=path, source=source)


ROUTES = (show_file,)
