"""The built files of the dashboard: scripts, style sheets and fonts, under hashed names."""

from __future__ import annotations

from typing import Final

from litestar import Response
from litestar.exceptions import NotFoundException
from litestar.params import FromPath

from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.web.islands import URL, Islands
from bbops_server.control_plane.web.routes import page
from bbops_server.control_plane.web.visit import Here

_HEADERS: Final = {
    "cache-control": "public, max-age=31536000, immutable", "vary": "accept-encoding",
}  # fmt: skip


@page(f"{URL}/{{file:str}}", Permission.BE_ANYBODY)
async def show_built_file(visit: Here, file: FromPath[str]) -> Response[bytes]:
    """Send a file of the manifest, compressed as the browser accepts it."""
    islands: Islands = visit.request.app.state.islands
    found = islands.files.get(file)
    if found is None:
        raise NotFoundException(f"there is no built file '{file[:200]}'")
    coding, content = found.encode(visit.request.headers.get("accept-encoding", ""))
    headers = _HEADERS if coding == "identity" else {**_HEADERS, "content-encoding": coding}
    return Response(content, media_type=found.media_type, headers=headers)


ROUTES = (show_built_file,)
