"""Which tools there are at which address, without anything of the protocol."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from bbops.interfaces.mcp.tool import McpTool, find_tools

PUBLIC: Final = "bbops_server.mcp.public"
PROJECT: Final = "bbops.interfaces.mcp.project"
PROTOCOLS: Final = ("2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26")
"""Those that clients are met in, newest first; tests/mcp/test_mcp_transport.py asks in each."""


@cache
def tools_of(package: str) -> Mapping[str, McpTool[Any]]:
    """Return every tool of a package by name."""
    return find_tools(package)
