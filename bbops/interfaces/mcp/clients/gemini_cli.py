"""Gemini CLI: https://geminicli.com/docs/tools/mcp-server."""

from __future__ import annotations

from bbops.interfaces.mcp.clients._base import McpClient

CLIENT = McpClient(
    "Gemini CLI",
    ".gemini/settings.json",
    ("mcpServers",),
    "httpUrl",
    (".gemini", "GEMINI.md", "~/.gemini"),
    "type /mcp auth and the name of this server in Gemini CLI",
)
