"""Codex: https://developers.openai.com/codex/mcp; it reads a project's file once it is trusted."""

from __future__ import annotations

from bbops.interfaces.mcp.clients._base import Client

CLIENT = Client(
    "Codex",
    ".codex/config.toml",
    ("mcp_servers",),
    "url",
    (".codex", "~/.codex"),
    "run 'codex mcp login' with the name of this server",
    form="toml",
)
