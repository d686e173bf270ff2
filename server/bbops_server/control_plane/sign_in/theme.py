"""The theme of the pages, light or dark, in a cookie of the browser."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from litestar import Response

from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.web.routes import form
from bbops_server.control_plane.web.visit import Here, Visit, local_path


@form("/theme", Permission.BE_ANYBODY)
async def choose_theme(visit: Here) -> Response[Any]:
    """Keep the theme for this browser, and return to the page that has sent the form."""
    chosen, back = await visit.field("theme"), await visit.field("back")
    return visit.keep_theme(visit.go(local_path(back or _page_before(visit))), chosen)


def _page_before(visit: Visit) -> str:
    """Return the path in the header Referer, which browsers send to the same site."""
    url = urlsplit(visit.request.headers.get("referer", ""))
    return url.path + (f"?{url.query}" if url.query else "")


ROUTES = (choose_theme,)
