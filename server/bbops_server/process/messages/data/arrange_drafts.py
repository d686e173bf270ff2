"""Let these drafts answer, and no others."""

from __future__ import annotations

from bbops_server.process.messages.data.place import DraftPlace
from bbops_server.process.messages.request import Done, Request


class ArrangeDrafts(Request[Done], frozen=True):
    """Let these drafts answer, and no others."""

    drafts: dict[str, DraftPlace]
    hosts: str
    """The domain whose names drafts have; empty where they have none."""
