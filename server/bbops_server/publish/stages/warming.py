"""Serve what was live before: from its artifact, which another version may not be able to read."""

from __future__ import annotations

from bbops.base.errors import BbopsError
from bbops_server.publish.sources.context import PublishContext
from bbops_server.publish.sources.values import UNCHANGED, Built, Fetched
from bbops_server.publish.stages.contracts import live_source
from bbops_server.publish.stages.stages import build, fill_env, link, require_valid, swap
from bbops_server.publish.status.status import Stalled


async def serve_again(built: Built, at: PublishContext) -> None:
    """Let the release of an artifact answer. Raises: BbopsError, Stalled: it cannot."""
    prepared = await fill_env(built, at)
    await swap(await link(prepared.rehearsed(UNCHANGED), at), at)


async def warm(built: Built, at: PublishContext) -> None:
    """The same; an artifact of another version is built again, from the same commit.

    Raises:
        BbopsError, Stalled: why it cannot be served.
    """
    try:
        await serve_again(built, at)
    except (BbopsError, Stalled):
        if not built.commit:
            raise
        source = await live_source(at.source, built.revision, at.plane.build)
        again = await build(Fetched(built.revision, source), at)
        require_valid(again)
        await serve_again(again, at)
