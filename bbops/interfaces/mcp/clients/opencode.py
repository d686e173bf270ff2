"""OpenCode: https://opencode.ai/docs/mcp-servers."""

from __future__ import annotations

from bbops.interfaces.mcp.clients._base import McpClient

CLIENT = McpClient(
    "OpenCode",
    "opencode.json",
    ("mcp",),
    "url",
    ("opencode.json", ".opencode", "~/.config/opencode"),
    "run 'opencode mcp auth' with the name of this server",
    more={"type": "remote"},
)
