"""Claude Code: https://code.claude.com/docs/en/mcp."""

from __future__ import annotations

from bbops.interfaces.mcp.clients._base import McpClient

CLIENT = McpClient(
    "Claude Code",
    ".mcp.json",
    ("mcpServers",),
    "url",
    (".mcp.json", ".claude", "CLAUDE.md", "~/.claude"),
    "type /mcp in Claude Code, choose this server, then Authenticate",
    more={"type": "http"},
    skills=".claude/skills",
)
