"""Somebody asked for a draft."""

from __future__ import annotations

from bbops_server.process.messages.request import Event


class DraftWanted(Event, frozen=True):
    """Somebody asked for a draft."""

    name: str
