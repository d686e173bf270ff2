"""Wait until a draft serves_commit a commit, and check whether it does."""

from __future__ import annotations

from typing import Final

from bbops.base.errors import ServerError
from bbops.interfaces.answers import DraftStatus
from bbops_server.publish.projects.protocols import DraftSource

WAKING_SECONDS: Final = 30.0


async def wait_until_ready(drafts: DraftSource, branch: str, head: str) -> DraftStatus:
    """Return the draft of a branch once it serves_commit a commit.

    Raises:
        ServerError: the commit has errors, or the draft is not ready in time.
    """
    drafts.prepare(branch)

    def is_over() -> bool:
        draft = drafts.find(branch)
        return serves_commit(draft, head) or _is_stalled(draft, head)

    await drafts.changed.wait(is_over, WAKING_SECONDS)
    draft = drafts.find(branch)
    if draft is not None and serves_commit(draft, head):
        return draft
    if draft is not None and _is_stalled(draft, head):
        raise ServerError(f"the draft does not work: {draft.message}")
    raise ServerError("the draft is not ready in time; try again in a moment")


def _is_stalled(draft: DraftStatus | None, head: str) -> bool:
    return draft is not None and draft.state == "stalled" and draft.commit == head


def serves_commit(draft: DraftStatus | None, head: str) -> bool:
    """Return whether a draft serves_commit a commit."""
    if draft is None or draft.commit != head or not draft.release:
        return False
    return head.startswith(draft.release)  # the release is named by its first digits
