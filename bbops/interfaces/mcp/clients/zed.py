"""Zed: https://zed.dev/docs/ai/mcp."""

from __future__ import annotations

from bbops.interfaces.mcp.clients._base import McpClient

CLIENT = McpClient(
    "Zed",
    ".zed/settings.json",
    ("context_servers",),
    "url",
    (".zed", "~/.config/zed"),
    "open the Agent panel's settings, and press Authenticate beside this server",
)
