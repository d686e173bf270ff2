"""Wait until a draft serves a commit."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import Final

from bbops.base.errors import ServerError
from bbops_server.publish.drafts.draft_status import DraftStatus
from bbops_server.publish.projects.asked import DraftSource

WAKING_SECONDS: Final = 30.0
_LOOK_SECONDS: Final = 0.1


async def wake(drafts: DraftSource, branch: str, head: str) -> DraftStatus:
    """Return the draft once it serves this commit.

    Raises:
        ServerError: the commit has mistakes, or it takes too long.
    """
    drafts.prepare(branch)
    until = monotonic() + WAKING_SECONDS
    while monotonic() < until:
        one = drafts.find(branch)
        if one is not None and serves(one, head):
            return one
        if one is not None and one.state == "stalled" and one.commit == head:
            raise ServerError(f"the draft does not work: {one.message}")
        await asyncio.sleep(_LOOK_SECONDS)
    raise ServerError("the draft is not ready in time; try again in a moment")


def serves(draft: DraftStatus | None, head: str) -> bool:
    """Return whether a draft answers with this commit."""
    if draft is None or draft.commit != head or not draft.release:
        return False
    return head.startswith(draft.release)  # its first digits
