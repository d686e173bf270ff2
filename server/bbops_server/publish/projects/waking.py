"""Wait until a draft serves a commit."""

from __future__ import annotations

from typing import Final

from bbops.base.errors import ServerError
from bbops.interfaces.answers import DraftStatus
from bbops_server.publish.projects.protocols import DraftSource

WAKING_SECONDS: Final = 30.0


async def wake(drafts: DraftSource, branch: str, head: str) -> DraftStatus:
    """Return the draft once it serves this commit.

    Raises:
        ServerError: the commit has mistakes, or it takes too long.
    """
    drafts.prepare(branch)

    def is_over() -> bool:
        one = drafts.find(branch)
        return serves(one, head) or _is_stalled(one, head)

    await drafts.changed.wait(is_over, WAKING_SECONDS)
    one = drafts.find(branch)
    if one is not None and serves(one, head):
        return one
    if one is not None and _is_stalled(one, head):
        raise ServerError(f"the draft does not work: {one.message}")
    raise ServerError("the draft is not ready in time; try again in a moment")


def _is_stalled(draft: DraftStatus | None, head: str) -> bool:
    return draft is not None and draft.state == "stalled" and draft.commit == head


def serves(draft: DraftStatus | None, head: str) -> bool:
    """Return whether a draft answers with this commit."""
    if draft is None or draft.commit != head or not draft.release:
        return False
    return head.startswith(draft.release)  # its first digits
