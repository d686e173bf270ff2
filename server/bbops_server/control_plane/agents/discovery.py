"""Discovery documents for programs: public, and readable from every origin."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from litestar import Response, get
from litestar.exceptions import NotFoundException
from litestar.params import FromPath

from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.web.routes import PERMISSION
from bbops_server.control_plane.web.visit import Here, Visit
from bbops_server.mcp.discovery import DOCUMENTS, read_document

_CORS_HEADERS: Final = {
    "access-control-allow-origin": "*",
    "cache-control": "public, max-age=3600",
    "cross-origin-resource-policy": "cross-origin",
}
_PUBLIC: Final = {PERMISSION: Permission.BE_ANYBODY}


@get(list(DOCUMENTS), include_in_schema=False, opt=_PUBLIC)
async def show_document(visit: Here) -> Response[bytes]:
    """Send a server card, a catalog or an index."""
    return await _send(visit, visit.request.url.path.rstrip("/"))


@get("/skills/{name:str}/SKILL.md", include_in_schema=False, opt=_PUBLIC)
async def show_skill(visit: Here, name: FromPath[str]) -> Response[bytes]:
    """Send a skill."""
    return await _send(visit, f"/skills/{name}/SKILL.md")


@get("/docs/{page:path}", include_in_schema=False, opt=_PUBLIC)
async def show_page(visit: Here, page: FromPath[str]) -> Response[bytes]:
    """Send a page of the documentation as Markdown."""
    return await _send(visit, f"/docs/{page.lstrip('/')}")


async def _send(visit: Visit, path: str) -> Response[Any]:
    url = visit.control.settings.control_url
    document = await asyncio.to_thread(read_document, url, path)
    if document is None:
        raise NotFoundException("page not found; /llms.txt lists all pages")
    headers = _CORS_HEADERS | {"etag": document.etag}
    if visit.request.headers.get("if-none-match") == document.etag:
        return Response(None, status_code=304, headers=headers)
    return Response(document.body, media_type=document.content_type, headers=headers)


ROUTES = (show_document, show_skill, show_page)
