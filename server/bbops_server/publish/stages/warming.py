"""Restore a live release from its artifact; another bbops version may not be able to read it."""

from __future__ import annotations

from bbops.base.errors import BbopsError
from bbops_server.publish.sources.context import PublishContext
from bbops_server.publish.sources.values import BuiltRevision, FetchedRevision
from bbops_server.publish.stages.contracts import live_source
from bbops_server.publish.stages.stages import RELINK, build, require_valid
from bbops_server.publish.status.status import Stalled


async def serve_artifact(built: BuiltRevision, at: PublishContext) -> None:
    """Make the release of an artifact live. Raises: BbopsError, Stalled: it cannot be served."""
    record = built
    for stage in RELINK:
        record = await stage.run(record, at)


async def warm(built: BuiltRevision, at: PublishContext) -> None:
    """Make a release live; rebuild an artifact of another bbops version from its commit.

    Raises:
        BbopsError, Stalled: it cannot be served.
    """
    try:
        await serve_artifact(built, at)
    except (BbopsError, Stalled):
        if not built.commit:
            raise
        source = await live_source(at.source, built.revision, at.plane.build)
        rebuilt = await build(FetchedRevision(built.revision, source), at)
        await serve_artifact(await require_valid(rebuilt, at), at)
