"""Which tools there are at which address, without anything of the protocol."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from bbops.mcp.tool import Tool, find_tools

PUBLIC: Final = "bbops_server.mcp.public"
PROJECT: Final = "bbops.mcp.project"


@cache
def tools_of(package: str) -> Mapping[str, Tool[Any]]:
    """Return every tool of a package by name."""
    return find_tools(package)
