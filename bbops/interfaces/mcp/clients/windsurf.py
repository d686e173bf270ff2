"""Windsurf: https://docs.windsurf.com/windsurf/cascade/mcp; its file belongs to the person."""

from __future__ import annotations

from bbops.interfaces.mcp.clients._base import Client

CLIENT = Client(
    "Windsurf",
    "~/.codeium/windsurf/mcp_config.json",
    ("mcpServers",),
    "serverUrl",
    (".windsurf", "~/.codeium/windsurf"),
    "press Refresh in Cascade's list of MCP servers, and allow the sign-in in the browser",
)
