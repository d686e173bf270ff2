"""Serve a release that was live before, from its artifact; another version may not read it."""

from __future__ import annotations

from bbops.base.errors import BbopsError
from bbops_server.publish.sources.context import PublishContext
from bbops_server.publish.sources.values import Built, Fetched
from bbops_server.publish.stages.contracts import live_source
from bbops_server.publish.stages.stages import RELINK, build, require_valid
from bbops_server.publish.status.status import Stalled


async def serve_again(built: Built, at: PublishContext) -> None:
    """Make the release of an artifact live. Raises: BbopsError, Stalled: it cannot be served."""
    record = built
    for stage in RELINK:
        record = await stage.run(record, at)


async def warm(built: Built, at: PublishContext) -> None:
    """Make a release live, and build an artifact of another version again from its commit.

    Raises:
        BbopsError, Stalled: it cannot be served.
    """
    try:
        await serve_again(built, at)
    except (BbopsError, Stalled):
        if not built.commit:
            raise
        source = await live_source(at.source, built.revision, at.plane.build)
        again = await build(Fetched(built.revision, source), at)
        await serve_again(await require_valid(again, at), at)
