"""Cursor: https://cursor.com/docs/context/mcp."""

from __future__ import annotations

from bbops.interfaces.mcp.clients._base import McpClient

CLIENT = McpClient(
    "Cursor",
    ".cursor/mcp.json",
    ("mcpServers",),
    "url",
    (".cursor", "~/.cursor"),
    "open Cursor's settings, Tools & MCP, and press Connect beside this server",
)
