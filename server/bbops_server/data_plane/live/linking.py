"""Link a release as the parent asks for it: in a data process, and in the process of a draft."""

from __future__ import annotations

from pathlib import Path

from bbops.database.schema.place import read_place
from bbops_server.data_plane.live.swap import Live
from bbops_server.process.messages.projects import LinkRelease, LinkReleaseAnswer


async def link(live: Live, request: LinkRelease) -> LinkReleaseAnswer:
    """Link a release beside the one that is live. Raises as `Live.link`."""
    await live.link(
        Path(request.artifact),
        name=request.name,
        env=request.env,
        database=read_place(request.database),
        durability=request.durability,
        detailed=request.detailed,
        history=Path(request.history) if request.history else None,
        frontend=Path(request.frontend) if request.frontend else None,
        url=request.url,
        start=request.start,
        kept=request.files,
        printer=request.printer,
    )
    return LinkReleaseAnswer(
        live.linked is not None and (live.linked.has_work or live.needs_center)
    )
