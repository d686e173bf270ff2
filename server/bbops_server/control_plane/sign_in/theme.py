"""The theme of the pages, light or dark, in a cookie of the browser."""

from __future__ import annotations

from typing import Any

from litestar import Response

from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.web.routes import form
from bbops_server.control_plane.web.visit import Here, local_path


@form("/theme", Permission.BE_ANYBODY)
async def choose_theme(visit: Here) -> Response[Any]:
    """Keep the theme for this browser, and return to the page."""
    chosen = await visit.field("theme")
    return visit.keep_theme(visit.go(local_path(await visit.field("return_to"))), chosen)


ROUTES = (choose_theme,)
