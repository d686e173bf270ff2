"""Test the connection of an addon."""

from __future__ import annotations

from bbops_server.process.messages.request import Answer, Request


class TriedAddon(Answer, frozen=True):
    """What came of it, see `bbops.base.json_addons`."""

    state: str
    text: str


class TryAddon(Request[TriedAddon], frozen=True):
    """Test the connection of an addon, with the settings and values of what is live."""

    project: str
    addon: str
