"""VS Code: https://code.visualstudio.com/docs/copilot/customization/mcp-servers."""

from __future__ import annotations

from bbops.interfaces.mcp.clients._base import McpClient

CLIENT = McpClient(
    "VS Code",
    ".vscode/mcp.json",
    ("servers",),
    "url",
    (".vscode", "~/.vscode"),
    "run 'MCP: List Servers' in the command palette, start this server, and allow the sign-in",
    more={"type": "http"},
)
