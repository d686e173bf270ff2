"""Windsurf: https://docs.windsurf.com/windsurf/cascade/mcp; its file is in the home folder."""

from __future__ import annotations

from bbops.interfaces.mcp.clients._base import McpClient

CLIENT = McpClient(
    "Windsurf",
    "~/.codeium/windsurf/mcp_config.json",
    ("mcpServers",),
    "serverUrl",
    (".windsurf", "~/.codeium/windsurf"),
    "press Refresh in Cascade's list of MCP servers, and allow the sign-in in the browser",
)
