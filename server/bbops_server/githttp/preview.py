"""Say where a draft is to be seen."""

from __future__ import annotations

from bbops_server.reconciler.status import DraftSource


def preview_line(drafts: DraftSource | None, branch: str) -> str:
    """Return what whoever pushed a draft is told about seeing it, and have it looked at now."""
    if drafts is None:
        return f"draft '{branch}' is kept; what is live has not changed"
    drafts.hurry()
    return f"preview: {drafts.url_of(branch)}"
