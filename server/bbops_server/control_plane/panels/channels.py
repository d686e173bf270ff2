"""The channels of a project: the settings that their endpoints share."""

from __future__ import annotations

from typing import Any

from litestar import Response
from litestar.params import FromPath

from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.web.frame import Panel
from bbops_server.control_plane.web.outline_page import OutlinePage, PageNumber
from bbops_server.control_plane.web.routes import page
from bbops_server.control_plane.web.visit import Here


@page("/projects/{name:str}/channels", Permission.READ_PROJECT)
async def show_channels(visit: Here, name: FromPath[str]) -> Response[Any]:
    """Show the channels of a project."""
    shown = await OutlinePage.open(visit, name)
    return shown.show("channels") if shown.outline else shown.show_errors("Channels")


@page("/projects/{name:str}/channels/{channel:str}", Permission.READ_PROJECT)
async def show_channel(
    visit: Here, name: FromPath[str], channel: FromPath[str], number: PageNumber = 1
) -> Response[Any]:
    """Show a channel with its endpoints."""
    shown = await OutlinePage.open(visit, name)
    outline = shown.outline
    if outline is None:
        return shown.show_errors("Channel")
    found = shown.pick(channel, outline.channels)
    if found is None:
        return shown.show_missing("channel", channel, outline.channels, shown.links.channel)
    inside = [endpoint for endpoint in outline.endpoints if endpoint.channel == found.name]
    rows = sorted(inside, key=lambda row: (row.path, row.method))
    listed = shown.list_rows(f"channels/{found.name}", rows, "", number, lambda row: row.path)
    return shown.show("channel", channel=found, listed=listed)


PANEL = Panel("Build", 40, "Channels", "channel", "/channels", count="channels", in_drafts=True)
ROUTES = (show_channels, show_channel)
