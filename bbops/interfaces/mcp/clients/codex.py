"""Codex: https://developers.openai.com/codex/mcp; it reads the file of a trusted project."""

from __future__ import annotations

from bbops.interfaces.mcp.clients._base import McpClient

CLIENT = McpClient(
    "Codex",
    ".codex/config.toml",
    ("mcp_servers",),
    "url",
    (".codex", "~/.codex"),
    "run 'codex mcp login' with the name of this server",
    form="toml",
)
