"""Serve what was live before: from its artifact, which another version may not be able to read."""

from __future__ import annotations

from bbops.base.errors import BbopsError
from bbops_server.publish.sources.attempt import Attempt, PublishContext
from bbops_server.publish.stages.contracts import live_source
from bbops_server.publish.stages.stages import RESTORING, build
from bbops_server.publish.status.status import Stalled


async def serve_again(attempt: Attempt, at: PublishContext) -> None:
    """Let the release of an artifact answer. Raises: BbopsError, Stalled: it cannot."""
    for _, stage in RESTORING:
        await stage(attempt, at)


async def warm(attempt: Attempt, at: PublishContext) -> None:
    """The same; an artifact of another version is made anew, of the same commit.

    Raises:
        BbopsError, Stalled: why it cannot be served.
    """
    try:
        await serve_again(attempt, at)
    except (BbopsError, Stalled):
        if not attempt.commit:
            raise
        attempt.source = await live_source(at.source, attempt.revision, at.plane.build)
        await build(attempt, at)
        await serve_again(attempt, at)
